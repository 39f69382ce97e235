/** The type of an import that is bundled for browsers: the texts of its files by name. */
declare module '*?browser' {
  const files: Readonly<Record<string, string>>
  export default files
}
