/** Which test files have their coverage measured, with all that they start: those that between them run the whole engine.
 *  The others confirm what it does, and are quicker unmeasured. */
const MEASURED =
  /^test\/(?:rooms\/(?!plugins|money|dear)|journeys\/(?:start|reload|websocket-messages)\.)/

/** The files that count in a test file's coverage; null: none. */
export default (test: string): string | null =>
  MEASURED.test(test) ? 'engine/**/*.{ts,cjs}' : null
