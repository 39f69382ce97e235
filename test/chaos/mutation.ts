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

/** The edited files. Throws if an edit does not match exactly once. */
export const applyEdits = (
  edits: readonly Edit[],
  read: (file: string) => string,
): Map<string, string> => {
  const texts = new Map(edits.map(({ file }) => [file, read(file)]))
  for (const { file, find, put } of edits) {
    const parts = (texts.get(file) ?? '').split(find)
    if (parts.length !== 2)
      throw new Error(`${file} contains it ${parts.length - 1} times: ${find}`)
    texts.set(file, parts.join(put))
  }
  return texts
}
