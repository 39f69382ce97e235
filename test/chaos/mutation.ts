/** A bug to plant: edits of the tree, and the tests that must fail with it. */

interface Edit {
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly put: string
}
export interface Mutation {
  readonly bug: string
  readonly edits: readonly Edit[]
  /** At least one of them must fail. */
  readonly tests: readonly string[]
}
export const edit = (file: string, find: string, put: string): Edit => ({ file, find, put })
