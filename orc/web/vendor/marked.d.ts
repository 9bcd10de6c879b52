export { Lexer } from "marked";
export type { Token, Tokens } from "marked";
