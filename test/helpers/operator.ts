/** Commands run as an operator runs them: nothing of the test runner about, of npm, or of upstreams that happen to be set. */

/** The environment of an operator's shell. */
export const operatorEnv = (
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || FOREIGN.test(name) ? [] : [[name, value]],
    ),
  ),
  ...more,
})
const FOREIGN = /^(?:_?TAP|NODE_|npm_|INIT_CWD)|_(?:BASE_URL|API_KEY)$/

/** The test runner puts its loaders into the environment of every child, whatever environment it is given: this takes them out. */
export const plainly = (command: string, ...args: readonly string[]): [string, string[]] => [
  'env',
  ['-u', 'NODE_OPTIONS', command, ...args],
]
