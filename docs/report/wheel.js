// Plays the recording of examples/wheel/record.c. Nothing is simulated: the slot of each dot, and its place
// there, are what the wheel had.
"use strict";
{
  const recording = JSON.parse(document.getElementById("recording").textContent);
  const {bits, levels, begin, frames, names} = recording;
  const [ARMED, AHEAD, LOWERED, FIRED, CANCELLED, POSTPONED] = [0, 1, 2, 3, 4, 5];
  const at = id => document.getElementById(id);
  const is_still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  // --- the slots -------------------------------------------------------------------------

  const centre = 340, width = 2 << bits;
  const rings = [
    {inner: 234, outer: 312, dot: 5.6, gap: 14},
    {inner: 148, outer: 224, dot: 3.7, gap: 9},
    {inner: 62, outer: 138, dot: 3.4, gap: 8.2},
  ];
  const level_of = slot => Math.floor(slot / width);
  const slots_of = level => level < levels - 1 ? width : width / 2;
  const index_of = (level, tick) => Math.floor(tick / 2 ** (bits * level)) % slots_of(level);
  const turn = (level, index) => (index / slots_of(level) - 0.25) * 2 * Math.PI;
  const polar = (angle, radius) => [centre + radius * Math.cos(angle), centre + radius * Math.sin(angle)];

  function draw(name, attributes, parent = at("rings")) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return parent.appendChild(element);
  }

  function sector(level, index) {
    const {inner, outer} = rings[level], from = turn(level, index), to = turn(level, index + 1);
    const [a, b, c, d] = [polar(from, outer), polar(to, outer), polar(to, inner), polar(from, inner)];
    return `M${a}A${outer} ${outer} 0 0 1 ${b}L${c}A${inner} ${inner} 0 0 0 ${d}Z`;
  }

  const slots = [];
  for (let level = 0; level < levels; ++level)
    for (let index = 0; index < slots_of(level); ++index)
      slots[level * width + index] = draw("path", {class: "slot", d: sector(level, index)});
  const hand = draw("line", {class: "hand"});
  const now_label = draw("text", {class: "now", x: centre, y: centre + 10});
  draw("text", {x: centre, y: centre - 26}).textContent = "tick";
  const dots = Array.from({length: recording.timers}, (_, who) =>
    draw("circle", {class: who < names.length ? "timer named idle" : "timer idle", r: 1}));

  // The places in a slot of each level, [turn from its middle, radius]: rows across the slot, as many to a
  // row as there is room, from its outer edge inwards.
  const places = rings.map(({inner, outer, dot, gap}, level) => {
    const found = [];
    for (let radius = outer - dot - 3; radius - dot > inner; radius -= gap) {
      const room = Math.max(1, Math.floor((2 * Math.PI * radius / slots_of(level) - 8) / gap));
      for (let n = 0; n < room; ++n) found.push([(n - (room - 1) / 2) * gap / radius, radius]);
    }
    return found;
  });

  // Where the n-th timer of a slot is drawn. What a slot has no room for is drawn on its last place.
  function place(slot, n) {
    const level = level_of(slot), [aside, radius] = places[level][Math.min(n, places[level].length - 1)];
    return {at: polar(turn(level, slot % width + 0.5) + aside, radius), size: rings[level].dot};
  }

  // --- the state after a frame -------------------------------------------------------------

  let frame, held, due, slot_of, counts;

  function start() {
    frame = -1;
    held = slots.map(() => []);
    due = [];
    slot_of = [];
    counts = {fired: 0, on_tick: 0, ahead: 0, lowered: 0};
  }

  function leave(who) {
    const ring = held[slot_of[who]];
    if (ring) ring.splice(ring.indexOf(who), 1);
    slot_of[who] = undefined;
  }

  function enter(who, slot) {
    leave(who);
    held[slot].push(who);
    slot_of[who] = slot;
  }

  const apply = {
    [ARMED](tick, who, when, slot) { due[who] = when; enter(who, slot); },
    [AHEAD](tick, who, slot) { ++counts.ahead; enter(who, slot); },
    [LOWERED](tick, who, slot) { ++counts.lowered; enter(who, slot); },
    [FIRED](tick, who) { ++counts.fired; counts.on_tick += due[who] === tick; leave(who); },
    [CANCELLED](tick, who) { leave(who); },
    [POSTPONED](tick, who, when) { due[who] = when; },
  };

  function next_frame(heard = () => {}) {
    ++frame;
    for (const event of frames[frame]) {
      heard(event);
      apply[event[0]](begin + frame, ...event.slice(1));
    }
  }

  // --- drawing it ----------------------------------------------------------------------------

  function spark([kind, who]) {
    if ((kind !== FIRED && kind !== CANCELLED) || is_still) return;
    const slot = slot_of[who], from = place(slot, held[slot].indexOf(who));
    const [x, y] = kind === FIRED ? polar(turn(level_of(slot), slot % width + 0.5), 332) : from.at;
    const dot = draw("circle", {class: kind === FIRED ? "spark" : "spark cancelled", r: from.size,
      style: `transform: translate(${from.at[0]}px, ${from.at[1]}px); --x: ${x}px; --y: ${y}px`});
    dot.onanimationend = () => dot.remove();
  }

  function draw_slots(tick) {
    for (let level = 0; level < levels; ++level) {
      const half = slots_of(level) / 2, open = index_of(level, tick);
      for (let index = 0; index < slots_of(level); ++index) {
        const is_next = level < levels - 1 && Math.floor(index / half) !== Math.floor(open / half);
        slots[level * width + index].setAttribute("class",
          index === open ? "slot open" : is_next ? "slot next" : "slot");
      }
    }
    const angle = turn(0, index_of(0, tick) + 0.5), [from, to] = [polar(angle, 60), polar(angle, rings[0].inner - 3)];
    for (const [key, value] of Object.entries({x1: from[0], y1: from[1], x2: to[0], y2: to[1]}))
      hand.setAttribute(key, value);
    now_label.textContent = tick;
  }

  function draw_dots() {
    const moving = new Set(frames[frame].filter(each => each[0] === AHEAD).map(each => each[1]));
    dots.forEach((dot, who) => {
      const name = who < names.length ? "timer named" : "timer", slot = slot_of[who];
      if (slot === undefined) {
        dot.setAttribute("class", name + " idle");
        return;
      }
      const {at: [x, y], size} = place(slot, held[slot].indexOf(who));
      dot.setAttribute("class", moving.has(who) ? name + " moving" : name);
      dot.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) scale(${who < names.length ? size + 1.6 : size})`;
    });
  }

  // --- saying it -----------------------------------------------------------------------------

  const ring_names = ["rim", "middle ring", "inner ring"];
  const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  const happened = kind => frames[frame].filter(each => each[0] === kind);

  // What became of a timer with a name comes first; else what became of most.
  function title() {
    for (const [kind, who, when] of frames[frame]) {
      if (who >= names.length) continue;
      const name = names[who];
      if (kind === FIRED) return `${name} fires, on its tick.`;
      if (kind === CANCELLED) return `${name} is cancelled and taken out.`;
      if (kind === POSTPONED) return `${name} is postponed to ${when}, and stays put.`;
      if (kind === LOWERED) return `${name}, postponed, moves on.`;
      if (kind === ARMED && happened(FIRED).every(each => each[1] !== who))
        return `${name} is armed for tick ${when}.`;
    }
    const fired = happened(FIRED).length;
    return fired > 0 ? `${plural(fired, "timer fires", "timers fire")}.` : "Nothing is due on this tick.";
  }

  // Two sentences at most, so that the caption has one height.
  function details(tick) {
    const said = [], block = 2 ** bits, [armed, ahead, lowered, , cancelled] = recording.kinds.map((_, kind) => happened(kind).length);
    if (frame === 0)
      return `${armed} timers are armed to begin with.`;
    if (tick % block === 0)
      said.push("A new block opens: " + (lowered === 0 ? "its timers are all on the rim already." : `${lowered} of its timers move now.`));
    else if (ahead > 0)
      said.push(`${plural(ahead, "timer moves", "timers move")} outwards, ` +
                `${plural(block - tick % block, "tick", "ticks")} before the next block opens.`);
    if (armed > 0)
      said.push(`${armed} armed${cancelled > 0 ? `, ${cancelled} cancelled` : ""}.`);
    return said.join(" ");
  }

  function tell(tick) {
    const first = document.createElement("b");
    first.textContent = title();
    at("caption").replaceChildren(first, details(tick));
    at("pending").textContent = held.reduce((sum, ring) => sum + ring.length, 0);
    at("fired").textContent = counts.fired;
    at("on-tick").textContent = counts.on_tick;
    at("ahead").textContent = counts.ahead;
    at("lowered").textContent = counts.lowered;
    names.forEach((name, who) => {
      const row = at("watched").rows[who], slot = slot_of[who];
      row.cells[1].textContent = slot === undefined ? "–" : due[who];
      row.cells[2].textContent = slot === undefined ? "not pending" : ring_names[level_of(slot)];
    });
    at("seek").value = frame;
    at("seek").setAttribute("aria-valuetext", `tick ${tick}`);
  }

  function show() {
    draw_slots(begin + frame);
    draw_dots();
    tell(begin + frame);
    at("player").dataset.frame = frame;
  }

  function go_to(target) {
    if (target < frame) start();
    while (frame < target) next_frame();
    show();
  }

  // --- playing -------------------------------------------------------------------------------

  let timer = 0;
  const is_playing = () => timer !== 0;

  function step() {
    if (frame + 1 === frames.length) start();
    next_frame(spark);
    show();
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    at("play").textContent = "Play";
    at("caption").setAttribute("aria-live", "polite");  // not while it plays: that would be a flood
  }

  function play() {
    clearInterval(timer);
    timer = setInterval(step, 1000 / at("speed").value);
    at("play").textContent = "Pause";
    at("caption").setAttribute("aria-live", "off");
  }

  function by_hand(act) {
    pause();
    act();
  }

  const toggle = () => is_playing() ? pause() : play();
  const forward = () => by_hand(step);
  const backward = () => by_hand(() => go_to(Math.max(frame - 1, 0)));

  at("play").onclick = toggle;
  at("step").onclick = forward;
  at("back").onclick = backward;
  at("speed").onchange = () => is_playing() && play();
  at("seek").max = frames.length - 1;
  at("seek").oninput = () => by_hand(() => go_to(Number(at("seek").value)));
  at("player").onkeydown = event => {
    const act = {" ": toggle, ArrowRight: forward, ArrowLeft: backward}[event.key];
    if (!act || event.target.closest("button, select, input")) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("visibilitychange", () => document.hidden && pause());

  for (const name of names) {
    const row = at("watched").insertRow(), head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = name;
    row.insertCell();
    row.insertCell();
  }

  // What is folded on the screen is printed.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(each => each.open = true));

  start();
  go_to(0);
  pause();
  if (!is_still)
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      observer.disconnect();
      play();
    }, {threshold: 0.3}).observe(at("rings"));
}
