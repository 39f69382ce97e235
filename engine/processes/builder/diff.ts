/** The differences of configuration files, as hunks of unified diffs. Pure. */
import { diff as diffLines } from 'node:util'
import type { ConfigFiles, FileDiff } from '../../plugin.ts'

export const diffOf = (before: ConfigFiles, after: ConfigFiles): readonly FileDiff[] => {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap(file => {
    const [old = '', now = ''] = [before[file], after[file]]
    return old === now ? [] : [{ file, lines: unified(old.split('\n'), now.split('\n')) }]
  })
}

/** Unchanged lines around a change. */
const CONTEXT = 3
const SIGNS = { '-1': '+', '0': ' ', '1': '-' } as const

/** Hunks of a unified diff, without the header of the file. */
const unified = (before: readonly string[], after: readonly string[]): readonly string[] => {
  // `diff` marks with 1 what only its first list has: so removed lines come first.
  const lines = diffLines(before, after).map(([kind, text]) => ({ sign: SIGNS[kind], text }))
  const isNear = (index: number): boolean =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' ')
  const result: string[] = []
  let [oldLine, newLine] = [1, 1]
  let hunk:
    | { header: number; old: number; new: number; oldStart: number; newStart: number }
    | undefined
  const close = (): void => {
    if (!hunk) return
    result[hunk.header] = `@@ -${hunk.oldStart},${hunk.old} +${hunk.newStart},${hunk.new} @@`
    hunk = undefined
  }
  for (const [index, { sign, text }] of lines.entries()) {
    const [isOld, isNew] = [sign !== '+', sign !== '-']
    if (isNear(index)) {
      hunk ??= { header: result.push('') - 1, old: 0, new: 0, oldStart: oldLine, newStart: newLine }
      result.push(sign + text)
      if (isOld) hunk.old++
      if (isNew) hunk.new++
    } else close()
    if (isOld) oldLine++
    if (isNew) newLine++
  }
  close()
  return result
}
