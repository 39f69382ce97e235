/** Merges the lists of a group: lists whose statements can all be merged become one list. */
import { JoinedTexts, type Step as MergeableStep, MergedStatements } from '../merged-statements.ts'
import type { DialectCache } from './dialect-cache.ts'
import { type Step, stepOf } from './steps.ts'

interface MergedLists {
  readonly lists: readonly (readonly Step[])[]
  /** The index of each original list; undefined for one that was merged. */
  readonly indexes: readonly (number | undefined)[]
}
export type MergeLists = (lists: readonly (readonly Step[])[]) => MergedLists

export const createListMerger = (dialects: DialectCache): MergeLists => {
  const joinedTexts = new JoinedTexts()
  return originals => {
    const merged = new MergedStatements(joinedTexts)
    const lists: (readonly Step[])[] = []
    const addMerged = (): void => {
      const steps = merged.drain().map(({ text, values, rows }) => ({
        ...stepOf(dialects, { sql: { name: '', text }, values }),
        rows,
      }))
      if (steps.length > 0) lists.push(steps)
    }
    const indexes = originals.map(list => {
      if (list.every(isMergeable)) {
        for (const { mergeable } of list) merged.add(mergeable)
        return undefined
      }
      // It may read the rows of the lists before it.
      addMerged()
      return lists.push(list) - 1
    })
    addMerged()
    return { lists, indexes }
  }
}
const isMergeable = (step: Step): step is Step & { readonly mergeable: MergeableStep } =>
  'mergeable' in step && step.mergeable !== undefined
