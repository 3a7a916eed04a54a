"""The settings of Sphinx for scripts/docs."""

project = "Indwell"
author = "the authors of Indwell"
html_title = "Indwell"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = [".doctrees"]
# The slugs of headings are those of the forge, so that one link serves both.
myst_heading_anchors = 6
myst_enable_extensions = ["attrs_block"]
suppress_warnings = [
    "myst.header",  # a page of the forge may begin its sections where it likes
    "misc.highlighting_failure",  # an example may leave out a part of a language
]
highlight_language = "text"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("live-figure.js", {"defer": "defer"}), ("tables.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#0b5f6b",
        "color-brand-content": "#0b5f6b",
        "color-brand-visited": "#0b5f6b",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cc7d1",
        "color-brand-content": "#6cc7d1",
        "color-brand-visited": "#6cc7d1",
    },
}
# For scripts/docs --external. A page that wants a login exists.
linkcheck_allow_unauthorized = True
linkcheck_anchors_ignore_for_url = [r"https://github\.com/"]  # their headings are made by scripts
linkcheck_timeout = 10
