/** Reads `key:` of an upstream: one key, or several with weights. */
import { createHash } from 'node:crypto'

type KeyOption = string | { readonly key: string; readonly weight?: number }
export type KeyOptions = KeyOption | readonly KeyOption[]

interface ReadKey {
  readonly name: string
  readonly value: string
  readonly weight: number
}

/** The keys that are set: a variable without a value leaves an empty one. */
export const readKeys = (options: KeyOptions | undefined): readonly ReadKey[] =>
  [options ?? []]
    .flat()
    .map(
      option =>
        (typeof option === 'string' ? { key: option } : option) as { key: string; weight?: number },
    )
    .filter(({ key }) => key !== '')
    .map(({ key, weight = 1 }) => ({ name: nameOfKey(key), value: key, weight }))

/** Identifies a key where the key itself must not stand. */
const nameOfKey = (key: string): string =>
  createHash('sha256').update(key).digest('hex').slice(0, 12)
