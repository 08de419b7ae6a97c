r"""Folders of LaTeX: what TeX takes in, and the statements that a source declares."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from arqmath_bm25.analysis.markup import words
from arqmath_bm25.collection.source_files import FilePart, read_source

ARTICLE = "\\documentclass{article}\n"


def parts_of(folder: Path, files: dict[str, str]) -> list[FilePart]:
    """Write files, and return the parts of the first one."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_source(folder / next(iter(files)), folder).parts


def document(body: str, preamble: str = "") -> str:
    return f"{ARTICLE}{preamble}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (r"\input{ch/one}", "ch/one.tex"),
        (r"\input ch/one ", "ch/one.tex"),
        (r"\input ch/one.tex", "ch/one.tex"),
        (r"\input{my chapters/one two}", "my chapters/one two.tex"),
        (r"\input{ch/one.v2}", "ch/one.v2.tex"),
        (r"\include{ch/one}", "ch/one.tex"),
        (r"\subfile{ch/one}", "ch/one.tex"),
        (r"\import{ch/}{one}", "ch/one.tex"),
        (r"\import*{ch}{one.tex}", "ch/one.tex"),
        (r"\subimport{./ch/}{one}", "ch/one.tex"),
        (r"\includefrom{ch/}{one}", "ch/one.tex"),
        (r"\input{\chapters/one}", "ch/one.tex"),
        (r"\InputIfFileExists{ch/one}{}{}", "ch/one.tex"),
        (r"\ifdraft\else\input{ch/one}\fi", "ch/one.tex"),
        (r"\chapterfile[2]{one}", "ch/one.tex"),
    ],
)
def test_what_tex_takes_in_is_read_within_the_main_file(
    tmp_path: Path, command: str, file: str
) -> None:
    preamble = r"\newcommand{\chapters}{ch}\newif\ifdraft"
    preamble += r"\newcommand{\chapterfile}[2][1]{\clearpage\setcounter{page}{#1}\input{ch/#2}}"
    main = document(f"\\section{{Zero}} words\n\n{command}\n\nafter", preamble)
    parts = parts_of(tmp_path, {"book.tex": main, file: "\\section{One}\nFirst words.\n"})
    assert [part.title for part in parts] == ["Zero", "One"]
    assert "First words." in parts[1].text
    assert "after" in parts[1].text
    assert "ch/" not in words(parts[0].html) + words(parts[1].html)


@pytest.mark.parametrize(
    "files",
    [
        {"src/main.tex": r"\input{ch/all}", "src/ch/all.tex": r"\input{ch/one}",
         "src/ch/one.tex": "Found."},
        {"main.tex": r"\import{ch/}{all}", "ch/all.tex": r"\input{one}", "ch/one.tex": "Found."},
        {"main.tex": r"\subimport{ch/}{all}", "ch/all.tex": r"\subimport{in/}{one}",
         "ch/in/one.tex": "Found."},
        {"main.tex": r"\subfile{ch/all}",
         "ch/all.tex": "\\documentclass[../main]{subfiles}\n\\begin{document}\\input{one}"
         "\\end{document} never", "ch/one.tex": "Found."},
        {"main.tex": r"\input{ch/one}", "ch/one.tex":
         "\\documentclass{standalone}\n\\usepackage{tikz} never\n\\begin{document}\nFound."
         "\\end{document}"},
    ],
)  # fmt: skip
def test_paths_are_relative_as_in_tex(tmp_path: Path, files: dict[str, str]) -> None:
    main, body = next(iter(files.items()))
    (part,) = parts_of(
        tmp_path,
        {main: document(f"Words. {body} End.")} | files | {main: document(f"Words. {body} End.")},
    )
    assert words(part.html).split() == ["Words.", "Found.", "End."]


def test_only_chapters_that_are_typeset_are_taken_in(tmp_path: Path) -> None:
    main = document(r"\include{one}\include{two}\input{three}", r"\includeonly{two, four}")
    files = {"main.tex": main, "one.tex": "First.", "two.tex": "Second.", "three.tex": "Third."}
    (part,) = parts_of(tmp_path, files)
    assert words(part.html).split() == ["Second.", "Third."]


@pytest.mark.parametrize(("flag", "shown"), [("true", ["Solved.", "End."]), ("false", ["End."])])
def test_conditionals_of_the_source_are_those_of_tex(
    tmp_path: Path, flag: str, shown: list[str]
) -> None:
    preamble = rf"\newif\ifsolutions \solutions{flag}"
    text = "\\ifsolutions Solved. \\ifx\\a\\b\\fi \\else \\iftrue\\fi \\fi\\iff End."
    (part,) = parts_of(tmp_path, {"a.tex": document(text, preamble)})
    assert words(part.html).split() == shown


@pytest.mark.parametrize(
    ("preamble", "statement", "title", "label"),
    [
        (r"\newtcbtheorem{Def}{Definition}{}{df}", r"\begin{Def}[label={a:b}]{Ring}{}TEXT\end{Def}",
         "Definition: Ring", "a:b"),
        ("", r"\begin{theorem}[{Euler \cite[p.~1]{x}}]\label{l}TEXT\end{theorem}",
         "Theorem: Euler", "l"),
        (r"\newtheorem{satz}{Satz}", r"\begin{satz}\label{l}TEXT\end{satz}", "Satz", "l"),
        (r"\newtheorem*{satz}{Satz}", r"\begin{satz}[Von X]\label{l}TEXT\end{satz}",
         "Satz: Von X", "l"),
        (r"\newtheorem{satz}[thm]{\textbf{S\"atze}}", r"\begin{satz}\label{l}TEXT\end{satz}",
         "Sätze", "l"),
        (r"\newtheorem{Thm2}{Theorem}[section]", r"\begin{Thm2}\label{l}TEXT\end{Thm2}",
         "Theorem", "l"),
        (r"\newmdtheoremenv[linecolor=red]{bxd}{Boxed}", r"\begin{bxd}\label{l}TEXT\end{bxd}",
         "Boxed", "l"),
        (r"\spnewtheorem{kor}{Korollar}{\bfseries}{\itshape}", r"\begin{kor}\label{l}TEXT\end{kor}",
         "Korollar", "l"),
        (r"\declaretheorem[style=plain,name={Hauptsatz},numberwithin=section]{hs}",
         r"\begin{hs}\label{l}TEXT\end{hs}", "Hauptsatz", "l"),
        (r"\declaretheorem{proposal}", r"\begin{proposal}\label{l}TEXT\end{proposal}",
         "Proposal", "l"),
        (r"\declaretheorem[title=Regel]{rg}", r"\begin{rg}[note={Kette},label=r:k]TEXT\end{rg}",
         "Regel: Kette", "r:k"),
        ("", r"\begin{theorem}[label={t:x}, name={Of $x$, again}]TEXT\end{theorem}",
         "Theorem: Of $x$, again", "t:x"),
        (r"\newtcbtheorem[number within=section]{Def}{Definition}{colback=red}{df}",
         r"\begin{Def}{Ring}{ring}TEXT\end{Def}", "Definition: Ring", "df:ring"),
        (r"\newtcbtheorem{Def}{Definition}{colback=red}{df}",
         r"\begin{Def}[breakable]{}{ring}TEXT\end{Def}", "Definition", "df:ring"),
        ("", r"\begin{lemma}[label=l:zorn]TEXT\end{lemma}", "Lemma", "l:zorn"),
        (r"\newtheorem{exercise}{Exercise}",
         r"\begin{exercise}[subtitle={Odd sums},points=4]\label{o}TEXT\end{exercise}",
         "Exercise: Odd sums", "o"),
        ("", r"\begin{Exercise}[difficulty=1,title={Sums},label={e:s}]TEXT\end{Exercise}",
         "Exercise: Sums", "e:s"),
        ("", r"\begin{theorem}<2->[Gauss]\label{g}TEXT\end{theorem}", "Theorem: Gauss", "g"),
        (r"\newtheorem{thm}{Theorem}",
         r"\begin{restatable}[Euler]{thm}{euler}\label{e}TEXT\end{restatable}",
         "Theorem: Euler", "e"),
        (r"\newenvironment{mythm}[1][]{\begin{mdframed}\begin{theorem}[#1]}"
         r"{\end{theorem}\end{mdframed}}", r"\begin{mythm}[Noether]\label{n}TEXT\end{mythm}",
         "Theorem: Noether", "n"),
    ],
)  # fmt: skip
def test_statements_have_the_names_that_the_source_declares(
    tmp_path: Path, preamble: str, statement: str, title: str, label: str
) -> None:
    main = document(f"\\section{{S}} before\n\n{statement}\n\nafter", preamble)
    parts = parts_of(tmp_path, {"a.tex": main})
    assert [part.title for part in parts] == ["S", f"S › {title}"]
    assert (parts[1].anchor, parts[1].text) == (label, "TEXT")


@pytest.mark.parametrize(
    ("preamble", "body", "shown"),
    [
        (r"\newenvironment{by}[1][Solution]{\par\textbf{#1.}}{\hfill$\square$}",
         r"\begin{by}[Hint]Try.\end{by}\begin{by}Done.\end{by}", "Hint. Try. Solution. Done."),
        (r"\newenvironment{spaced}{\addvspace{6pt}\hrule height 2pt}{}",
         r"\begin{spaced}Words.\end{spaced}", "Words."),
        (r"\excludecomment{hidden}", r"\begin{hidden}No.\end{hidden} Yes.", "Yes."),
        ("", r"\begin{tcolorbox}[colback=red!5,title={Keep \emph{this}}]Boxed.\end{tcolorbox}",
         "Keep this Boxed."),
        ("", r"\begin{mdframed}[frametitle=Facts]Framed.\end{mdframed}", "Facts Framed."),
        ("", r"\only<3>{Late} \alert<2->{red} \onslide<+->{slide} \item<1-|alert@1> Item",
         "Late red slide Item"),
        ("", r"\question[5] Prove. \part[2] First \part Second \section Third",
         "Prove. First Second Third"),
        ("", r"\caption[Short]{Long} \fancyhead[L]{Head} \markboth{A}{B} \cmidrule(lr){2-3} So.",
         "Long So."),
        ("", r"\hskip 1em More \vskip 2pt plus 1pt minus 1pt words \parindent=0pt end",
         "More words end"),
        ("", r"\begin{columns}\begin{column}{.5\textwidth}Left\end{column}\end{columns}", "Left"),
        ("", r"\title[Short]{Long \emph{one}}\maketitle So.", "So."),
        ("", r"\IfFileExists{a/b.tex}{Found}{} \lstinputlisting{c.py} \iftoggle{sol}{Yes}{}",
         "Found Yes"),
        ("", r"\begin{definition}<2->[Norms]$N$.\end{definition}\begin{proof}<3>Ok.\end{proof}",
         "Norms $N$ . Ok."),
        ("", r"\begin{proof}[Sketch]<4-> So. \item[a)]<2-> One \item<3->[b)] Two\end{proof}",
         "Sketch So. a) One b) Two"),
        ("", r"\begin{solutionbox}{2in} As $x$.\end{solutionbox} See \subref{f:a}, \vpageref{f}.",
         "As $x$ . See , ."),
        ("", r"\newacronym{gcd}{GCD}{divisor}\newglossaryentry{unit}{name={unit}} Units", "Units"),
        ("", r"\alt<3>{Odd}{Even} \temporal<2>{Soon}{Now}{Gone} \epigraph{Count.}{Gauss}",
         "Odd Even Soon Now Gone Count. Gauss"),
        ("", r"\begin{solution}[3cm]$a$\end{solution}\begin{solutionorbox}[1.5in]$b$"
         r"\end{solutionorbox}", "$a$ $b$"),
        ("", r"\titledquestion{Rings}[10] Is it one? \fillin[yes][1in] \fillwithlines{\stretch{1}}"
         r"\makeemptybox{4cm}\fillwithdottedlines{8em}", "Rings Is it one?"),
        ("", r"No \todo[inline, color=green!40]{Check}thing \glsadd{ring}but \glspl{field}",
         "No thing but field"),
        ("", r"Dots \tikz[scale=.5]{\fill (0,0) circle (2pt);} or \tikz \draw (0,0) -- (1,0); so.",
         "Dots or so."),
        ("", r"\includestandalone[scale=2]{pictures/cone}Cones", "Cones"),
        ("", r"\SIrange{20}{30}{\celsius} \qtyrange{4}{5}{\kelvin}", "20 30 4 5"),
        ("", r"\begin{tabbing}if \= $a$ \= then \kill \> x\end{tabbing} \=ab",
         "if $a$ then x \u0101b"),
        ("", r"See \crefrange{thm:one}{thm:six} or \labelcref{eq:a}.", "See or ."),
        ("", "\\begin{Verbatim}[fontsize=\\small, frame=single]\nx = 1\n\\end{Verbatim}",
         "x = 1"),
        ("", "\\begin{lstlisting}\n\\end{document}\n\\end{lstlisting}\nStill.",
         r"\end{document} Still."),
    ],
)  # fmt: skip
def test_layout_is_no_text(tmp_path: Path, preamble: str, body: str, shown: str) -> None:
    (part,) = parts_of(tmp_path, {"a.tex": document(body, preamble)})
    assert words(part.html).split() == shown.split()


@pytest.mark.parametrize(
    ("preamble", "begin", "end"),
    [
        (r"\newcommand{\bthm}{\begin{theorem}} \newcommand{\ethm}{\end{theorem}}",
         r"\bthm", r"\ethm "),
        (r"\newenvironment{thm}{\begin{theorem}}{\end{theorem}}", r"\begin{thm}", r"\end{thm}"),
    ],
)  # fmt: skip
def test_proofs_of_the_source_belong_to_its_statements(
    tmp_path: Path, preamble: str, begin: str, end: str
) -> None:
    preamble += r"\newenvironment{beweis}{\begin{proof}[Beweis]}{\end{proof}}"
    body = (
        rf"Before. {begin}\label{{t}} Every $x$. {end}\begin{{beweis}}Clear.\end{{beweis}} After."
    )
    before, theorem = parts_of(tmp_path, {"a.tex": document(body, preamble)})
    assert words(before.html).split() == ["Before.", "After."]
    assert (theorem.anchor, theorem.title) == ("t", "Theorem")
    assert words(theorem.html).split()[-2:] == ["Beweis", "Clear."]


def test_environments_of_the_source_may_begin_with_a_heading(tmp_path: Path) -> None:
    preamble = r"\newenvironment{task}[1]{\refstepcounter{n}\section*{Task \then: #1}}{}"
    body = r"\begin{task}{Norms $n$}One.\end{task}\begin{task}{Sums}Two.\end{task}"
    parts = parts_of(tmp_path, {"a.tex": document(body, preamble)})
    assert [part.title for part in parts] == ["Task : Norms $n$", "Task : Sums"]


def test_macros_that_write_headings_cut_where_they_stand(tmp_path: Path) -> None:
    preamble = r"\newcommand{\lecture}[2]{\chapter{#1: #2}\label{l:#1}}"
    body = r"Zero. \lecture{One}{Groups} First text. \lecture{Two}{Rings $x$} Second."
    parts = parts_of(tmp_path, {"a.tex": document(body, preamble)})
    found = [(part.anchor, part.title, part.text.splitlines()[-1]) for part in parts]
    assert found == [
        ("", "", "Zero."),
        ("l:One", "One: Groups", "First text."),
        ("l:Two", "Two: Rings $x$", "Second."),
    ]


def test_labels_and_footnotes_of_headings_are_no_part_of_their_titles(tmp_path: Path) -> None:
    body = r"\section[Sums]{Sums \emph{of} squares\label{s:sums}\protect\footnote{By Fermat $p$.}}"
    (part,) = parts_of(tmp_path, {"a.tex": document(f"{body} Two of them.")})
    assert (part.anchor, part.title) == ("s:sums", "Sums of squares")
    assert words(part.html).split() == ["By", "Fermat", "$p$", ".", "Two", "of", "them."]


def test_ranges_of_references_have_both_ends(tmp_path: Path) -> None:
    body = r"By \crefrange{t:a}{t:c}, \Crefrange*{t:d}{t:e} and \labelcref{t:f,t:g}."
    (part,) = parts_of(tmp_path, {"a.tex": document(body)})
    assert part.references == ("t:a", "t:c", "t:d", "t:e", "t:f", "t:g")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\[ a < b \qedhere \]", "$$a < b$$"),
        (r"$$ c \leqno{(\rm II)} $$", "$$c$$"),
        (r"$$ c \eqno(3) $$", "$$c$$"),
        (r"\[ \allowdisplaybreaks d \hfill\blacksquare \numberthis\]", "$$d$$"),
        (r"$e\only<2-> {^2} + \alert<3>{f}$, $\uncover<1>{g}$, $\alert{h}\pause$",
         "$e {^2} + {f}$ , ${g}$ , ${h}$"),
        (r"\begin{align*} a&=b \\ \intertext{so by $c$} d&=e \end{align*}",
         r"$$\begin{align*} a&=b \\ d&=e \end{align*}$$ so by $c$"),
        (r"\[ \alpha \qedsymbols \altitude \]", r"$$\alpha \qedsymbols \altitude$$"),
    ],
)  # fmt: skip
def test_layout_is_no_symbol_of_a_formula(tmp_path: Path, source: str, shown: str) -> None:
    (part,) = parts_of(tmp_path, {"a.tex": document(source)})
    assert " ".join(unescape(words(part.html)).split()) == shown


def test_frames_with_titles_are_sections(tmp_path: Path) -> None:
    deck = r"""\documentclass{beamer}\title{Deck}\begin{document}
\section{Spaces}
\begin{frame}[fragile]{Compact \emph{sets}}
Every cover.
\end{frame}
\begin{frame}
  \frametitle<presentation>{Connected}
  No splitting.
\end{frame}
\begin{frame}<2->[plain]{Closed}{with a subtitle} Limits. \end{frame}
\begin{frame} Without a title. \end{frame}
\frame{\frametitle{Open} Balls.}
\end{document}"""
    parts = parts_of(tmp_path, {"deck.tex": deck})
    titles = [part.title.removeprefix("Deck › ") for part in parts]
    names = ["Compact sets", "Connected", "Closed", "Open"]
    assert titles == [f"Spaces › {name}" for name in names]
    assert "Without a title." in parts[2].text


def test_a_title_after_the_text_of_its_frame_is_that_of_all_of_it(tmp_path: Path) -> None:
    deck = r"""\documentclass{beamer}\begin{document}
\begin{frame}\frametitle{Filters} A filter. \end{frame}
\begin{frame}[t]
  \begin{block}{A lemma} Ultrafilters exist. \end{block}
  \frametitle{Ultrafilters}
\end{frame}
\end{document}"""
    filters, ultrafilters = parts_of(tmp_path, {"deck.tex": deck})
    assert [filters.title, ultrafilters.title] == ["Filters", "Ultrafilters"]
    assert "exist" not in filters.text
    assert "exist" in ultrafilters.text


def test_a_file_ends_with_the_line_that_says_so(tmp_path: Path) -> None:
    files = {
        "main.tex": document(r"\section{A} \input{part} after"),
        "part.tex": "a manta\n\\iffalse\\endinput\\fi a ray\n\\endinput a shark\nan eel\n",
    }
    (part,) = parts_of(tmp_path, files)
    assert words(part.html).split() == "a manta a ray a shark after".split()


def test_references_of_commands_with_an_optional_star_are_kept(tmp_path: Path) -> None:
    see = r"\NewDocumentCommand{\see}{s m}{(see \cref{#2})}"
    (part,) = parts_of(tmp_path, {"a.tex": document(r"\section{A} \see{lem:a} \see*{lem:b}", see)})
    assert part.references == ("lem:a", "lem:b")


def test_a_part_has_the_definitions_that_it_uses(tmp_path: Path) -> None:
    preamble = "\n".join(rf"\newcommand{{\m{letter}}}{{x_{letter}}}" for letter in "abcdef")
    preamble += "\n\\newcommand{\\norm}[1]{\\lVert#1\\rVert}\\newcommand\\both[1]{\\norm{#1}}\n"
    preamble += "\\let\\old\\phi\n\\renewcommand{\\phi}{\\varphi}"
    main = document("\\section{A} $\\ma$\n\\section{B} $\\both{x}\\old$", preamble)
    first, second = parts_of(tmp_path, {"a.tex": main})
    assert first.text.splitlines()[:-1] == [r"\newcommand{\ma}{x_a}"]
    assert second.text.splitlines()[:-1] == [
        r"\newcommand{\norm}[1]{\lVert#1\rVert}",
        r"\newcommand{\both}[1]{\norm{#1}}",
        r"\let\old\phi",
    ]


def test_definitions_of_a_notebook_hold_for_all_of_its_parts(tmp_path: Path) -> None:
    text = "# One\n\n$\\newcommand{\\vb}[1]{\\mathbf{#1}}$ words\n\n# Two\n\nLet $\\vb{x}=0$.\n"
    _, second = parts_of(tmp_path, {"a.md": text})
    assert second.text == "$\\newcommand{\\vb}[1]{\\mathbf{#1}}$\nLet $\\vb{x}=0$."


def test_packages_of_the_folder_define_macros_and_statements(tmp_path: Path) -> None:
    style = "\\ProvidesPackage{own}\n\\newcommand{\\R}{\\mathbb{R}}\n\\newtheorem{satz}{Satz}\n"
    main = document("\\begin{satz}\\label{l} In $\\R$. \\end{satz}", r"\usepackage{amsmath,own}")
    (part,) = parts_of(tmp_path, {"a.tex": main, "own.sty": style})
    assert (part.title, words(part.html).split()) == ("Satz", ["In", r"$\mathbb{R}$", "."])


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        (r"\usepackage[latin1]{inputenc}", "latin-1"),
        (r"\usepackage[utf8]{inputenc}", "utf-8"),
        (r"\usepackage[ansinew]{inputenc}", "cp1252"),
        (r"\usepackage[applemac]{inputenc}", "mac_roman"),
        (r"\usepackage[koi8-r]{inputenc}", "koi8-r"),
        (r"\inputencoding{latin2}", "iso8859-2"),
        ("% !TEX encoding = IsoLatin9", "iso8859-15"),
        ("% -*- coding: latin-1 -*-", "latin-1"),
    ],
)
def test_a_file_is_decoded_as_it_declares(tmp_path: Path, declared: str, encoding: str) -> None:
    word = "Федя" if encoding == "koi8-r" else "Möbius"
    path = tmp_path / "a.tex"
    path.write_bytes(document(f"{word} $x$", declared).encode(encoding))
    (part,) = read_source(path, tmp_path).parts
    assert word in part.text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.md"
    path.write_bytes("# Möbius\n\nwords\n".encode(encoding))
    (part,) = read_source(path, tmp_path).parts
    assert part.title == "Möbius"


def test_files_are_taken_in_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = parts_of(Path("book"), {"a.tex": document(r"\input{b}"), "b.tex": r"Words $x$."})
    assert [part.text for part in parts] == ["Words $x$."]
