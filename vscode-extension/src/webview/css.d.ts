/** Styles are bundled apart; importing them gives nothing. */
declare module "*.css";
