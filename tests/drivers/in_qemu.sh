#!/bin/sh
# in_qemu.sh FOLDER: runs tests of drivers on Debian's kernel, in an emulated machine, with the io_uring of
# Linux 6.1, the oldest that the uring driver takes, and a clock that the tests may set. FOLDER is where the
# tests were built. The script downloads the kernel with apt-get and does not install it. It needs no
# privileges, because the machine is emulated, and takes a minute. Run it by ./dev kernel.
set -eu
built=$(cd "$1" && pwd)
# A program, and the tests in it.
runs="drivers/drivers
drivers/drivers_watches
runtime/runtime p12_clocks p13_fork
runtime/runtime_faults new_refused descriptor_limit start_refused"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The newest kernel, for which linux-image-cloud-amd64 stands. The machine needs none of its modules.
image=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
apt-get download "$image" >download.log 2>&1 || { cat download.log; exit 1; }
dpkg-deb -x "$image"_*.deb kernel

mkdir -p root/bin root/proc root/sys root/dev root/tmp
cp "$(command -v busybox)" root/bin/busybox
echo "$runs" | while read -r program _; do
    cp "$built/$program" root/bin/
    ldd "$built/$program" | sed -n 's/.*[ \t]\(\/[^ ]*\) (0x.*/\1/p'
done | sort -u | while read -r library; do
    mkdir -p "root${library%/*}"
    cp -L "$library" "root$library"
done

# The first process of the machine. No test may be skipped there.
cat >root/init <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin TW_MAY_SET_CLOCK=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
echo "== Linux $(uname -r)"
while read -r program tests; do
    if ${program##*/} $tests </dev/null >/tmp/said 2>&1 && ! grep SKIPPED /tmp/said; then
        echo "== passed: $program $tests"
    else
        cat /tmp/said
        echo "== FAILED: $program $tests"
    fi
done </runs
echo "== the end"
poweroff -f
END
echo "$runs" >root/runs
chmod +x root/init
(cd root && find . | cpio -o -H newc 2>/dev/null) | gzip -1 >initramfs.gz

timeout 1200 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 1024 -nographic -no-reboot \
    -kernel kernel/boot/vmlinuz-* -initrd initramfs.gz -append 'console=ttyS0 quiet panic=-1' </dev/null |
    tr -d '\r' | tee said | sed -n '/== Linux/,$p'
wanted=$(echo "$runs" | wc -l)
passed=$(grep -c '^== passed' said) || true
echo "$passed of $wanted passed"
[ "$passed" -eq "$wanted" ]
