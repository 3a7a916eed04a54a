/** Styles are bundled separately; their import has no value. */
declare module "*.css";
