// Ranks search results: the page of the command that was asked for comes first, then pages of the guide, then those about development.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const command = query.trim().toLowerCase().replace(/^spoofspan\s+/, "").replace(/\s+/g, "-");
    if (docname === `commands/${command}`) return score + (anchor ? 100 : 200);
    if (docname.startsWith("decisions/")) return score - 30;
    if (["architecture", "changelog", "contributing", "development"].includes(docname)) return score - 10;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
