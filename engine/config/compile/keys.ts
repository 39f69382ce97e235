/** Reads `key:` of an upstream: one key, or several with weights. */
import { createHash } from 'node:crypto'
import { KEY } from '../sections/upstream.ts'
import type { RawOf } from '../shape.ts'
import type { CompileFault } from './compile-problem.ts'

/** As the schema accepts it. */
export type KeyOptions = RawOf<typeof KEY>

export interface ReadKey {
  readonly name: string
  readonly value: string
  readonly weight: number
}

/** The keys that are set: a variable without a value leaves an empty one. */
export const readKeys = (options: KeyOptions | undefined): readonly ReadKey[] =>
  KEY.read(options ?? [])
    .filter(({ key }) => key !== '')
    .map(({ key, weight }) => ({ name: nameOfKey(key), value: key, weight }))

/** Finds keys that no header can carry. They are not shown: problems are logged. */
export const findKeyFaults = (
  name: string,
  { key, auth }: { readonly key?: KeyOptions; readonly auth?: unknown },
): readonly CompileFault[] => {
  const isInQuery = typeof auth === 'object' && auth !== null && 'query' in auth
  if (isInQuery || !readKeys(key).some(({ value }) => FORBIDDEN.test(value))) return []
  return [
    {
      where: ['upstreams', name, 'key'],
      code: 'UPSTREAM_KEY',
      message: `a key of the upstream "${name}" has a character that no header can carry, such as a line break or a typographic quotation mark; copy the key again`,
    },
  ]
}
/** Characters that the HTTP client refuses in the value of a header. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/

/** Identifies a key where the key itself must not appear. */
export const nameOfKey = (key: string): string =>
  createHash('sha256').update(key).digest('hex').slice(0, 12)
