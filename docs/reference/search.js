// search(entries, query): the entries that have every word of the query, best first. An entry is
// [name, kind, header, text, place].
function search(entries, query) {
  const words = query.toLowerCase().split(/[\s(),;]+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = [];
  for (const entry of entries) {
    const name = entry[0].toLowerCase();
    const text = entry[3].toLowerCase();
    let points = 0;
    for (const word of words) {
      const here = points_of(name, text, word);
      if (here === 0) { points = 0; break; }
      points += here;
    }
    if (points > 0) found.push([points + (entry[1] === "function" ? 1 : 0), entry]);
  }
  found.sort((a, b) => b[0] - a[0] || a[1][0].length - b[1][0].length || (a[1][0] < b[1][0] ? -1 : 1));
  return found.slice(0, 60).map((each) => each[1]);
}

function points_of(name, text, word) {
  if (name === word) return 200;
  if (name === "tw_" + word) return 100;
  if (name.split(/[_:.\/]+/).includes(word)) return 60;
  if (name.startsWith(word)) return 50;
  if (name.includes(word)) return 30;
  const at = text.indexOf(word);
  return at < 0 ? 0 : at < 80 ? 8 : 4;
}
