// MathML that MathJax makes of formulas, for tests/support/formulas.tsv and mathjax_agreement.py.
// Standard input: JSON list of LaTeX; standard output: JSON list of MathML, null where MathJax shows an error
const {mathjax} = require('mathjax-full/js/mathjax.js');
const {TeX} = require('mathjax-full/js/input/tex.js');
const {liteAdaptor} = require('mathjax-full/js/adaptors/liteAdaptor.js');
const {RegisterHTMLHandler} = require('mathjax-full/js/handlers/html.js');
const {AllPackages} = require('mathjax-full/js/input/tex/AllPackages.js');
const {SerializedMmlVisitor} = require('mathjax-full/js/core/MmlTree/SerializedMmlVisitor.js');
const {STATE} = require('mathjax-full/js/core/MathItem.js');
RegisterHTMLHandler(liteAdaptor());
const packages = AllPackages.filter(p => !['bussproofs','physics','colorv2','noerrors','noundefined'].includes(p)).concat(['noundefined']);
const visitor = new SerializedMmlVisitor();
const all = JSON.parse(require('fs').readFileSync(0,'utf8'));
const out = all.map(latex => {
  const html = mathjax.document('', {InputJax: new TeX({packages, formatError: (j,e)=>{throw e}})});
  try {
    const t = visitor.visitTree(html.convert(latex, {display:true, end: STATE.CONVERT}));
    return /mathcolor="red"|<merror/.test(t) && !/color\{red|\\color|\\textcolor|red/.test(latex) ? null : t;
  } catch (e) { return null; }
});
process.stdout.write(JSON.stringify(out));
