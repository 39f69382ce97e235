/** A bug to be planted: edits of the tree, and the tests that must turn red at it. */

interface Edit {
  readonly file: string
  /** Found exactly once. */
  readonly find: string
  readonly put: string
}
export interface Mutation {
  readonly bug: string
  readonly edits: readonly Edit[]
  /** Any of them. */
  readonly tests: readonly string[]
}
export const edit = (file: string, find: string, put: string): Edit => ({ file, find, put })
