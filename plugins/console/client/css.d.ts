/** The type of an import of a style sheet, which the bundle adds to the page. */
declare module '*.css'
