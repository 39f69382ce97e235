/** The names of API keys and members of the account, for rows that have their numbers. */
import { useMemo } from 'preact/hooks'
import type { MemberView, OwnKey } from '../../../views.ts'
import { useData } from '../loading.ts'
import { text } from '../texts.ts'

type Names = ReadonlyMap<number, string>

/** Empty until they are loaded. */
const useNames = (path: string): Names => {
  const { data } = useData<{ data: readonly Pick<OwnKey | MemberView, 'id' | 'name'>[] }>(path)
  return useMemo(() => new Map(data?.data.map(({ id, name }) => [id, name])), [data])
}
export const useKeyNames = (): Names => useNames('/api/keys?limit=1000')
/** Names of the members that the account has now; empty if it has none. */
export const useMemberNames = (): Names => useNames('/api/members?limit=1000')

/** A call without a key was made with a session. */
export const keyNameOf = (key: number | null, names: Names): string =>
  key === null ? text('usage.console') : (names.get(key) ?? `#${key}`)
/** A removed member has its number alone. */
export const memberNameOf = (member: number | null, names: Names): string =>
  member === null ? text('usage.account') : (names.get(member) ?? `#${member}`)
