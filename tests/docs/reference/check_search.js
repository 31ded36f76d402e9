// check_search.js index.html: runs the code of the page's search and checks what it finds.
const assert = require("assert");
const page = require("fs").readFileSync(process.argv[2], "utf8");
const entries = JSON.parse(page.match(/<script type="application\/json" id="index">(.*?)<\/script>/s)[1]);
const script = page.match(/<script>\n(.*?)<\/script>/s)[1];
const search = new Function(script.slice(0, script.indexOf("const entries =")) + "return search;")();
const names = (query) => search(entries, query).map((entry) => entry[0]);

assert.strictEqual(names("tw_runtime_after")[0], "tw_runtime_after");
assert.strictEqual(names("arm_at")[0], "tw_arm_at");
assert.strictEqual(names("TW_Coalesce")[0], "TW_COALESCE");
assert.ok(names("postpone").slice(0, 4).includes("tw_postpone"));
assert.ok(names("-ESTALE").length > 0, "an error");
assert.ok(names("wall clock set back").length > 0, "words of a text");
assert.ok(names("timer remaining").includes("timer::remaining"), "a member in C++");
assert.ok(names("tick_ns").includes("tw_runtime_options.tick_ns"), "a member of a struct");
assert.deepStrictEqual(names(""), []);
assert.deepStrictEqual(names("no such thing anywhere"), []);
assert.deepStrictEqual(names("<script> \\ ( [ *"), []);
for (const entry of entries) {
  const first = search(entries, entry[0])[0];
  assert.strictEqual(first[0].toLowerCase(), entry[0].toLowerCase(), `${entry[0]} is not first`);
  assert.ok(page.includes(`id="${entry[4]}"`), `${entry[0]} has no place`);
}
console.log(`the search is right: ${entries.length} entries`);
