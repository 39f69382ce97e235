/** The names of the account's own API keys, for rows that have their numbers. */
import { useMemo } from 'preact/hooks'
import type { OwnKey } from '../../../views.ts'
import { useData } from '../loading.ts'
import { text } from '../texts.ts'

type KeyNames = ReadonlyMap<number, string>

/** Empty until they are loaded. */
export const useKeyNames = (): KeyNames => {
  const { data } = useData<{ data: readonly OwnKey[] }>('/api/keys?limit=1000')
  return useMemo(() => new Map(data?.data.map(({ id, name }) => [id, name])), [data])
}
/** A call without a key was made with a session. */
export const keyNameOf = (key: number | null, names: KeyNames): string =>
  key === null ? text('usage.console') : (names.get(key) ?? `#${key}`)
