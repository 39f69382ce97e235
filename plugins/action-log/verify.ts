/** Verifies the log of actions: every row against its signature, the rows against each other, and
 *  the whole against published heads. */
import type { HostBase } from '../../engine/plugin.ts'
import type { ActionFinding, ActionReport } from '../views.ts'
import { type ActionKey, type ActionRow, type Head, macOf, proofOf } from './action.ts'
import { publishedHeads } from './heads.ts'
import { knownKeys } from './keys.ts'
import { ALL, readHead, rowOf, type StoredHead } from './statements.ts'

const PAGE = 1_000
/** More findings say nothing new. */
const MOST_FINDINGS = 100

type Host = Pick<HostBase, 'database' | 'section' | 'folder'>

/** `heads`: published ones, beside those of this machine's file. */
export const verifyActions = async (host: Host, heads: readonly Head[]): Promise<ActionReport> => {
  const published = [...publishedHeads(host), ...heads]
  const known = await readHead(host.database)
  const check = new Check(knownKeys(host), known, published)
  for await (const page of host.database.pages(ALL, [0], PAGE))
    for (const row of page) check.row(rowOf(row))
  check.end()
  // Rows may be deleted by age meanwhile.
  const after = await readHead(host.database)
  if (check.findings.length > 0 && after?.deleted.seq !== known?.deleted.seq)
    return verifyActions(host, heads)
  const { findings, rows, last } = check
  return {
    intact: findings.length === 0,
    rows,
    last: last.seq,
    deleted: known?.deleted.seq ?? 0,
    heads: published.length,
    findings: findings.slice(0, MOST_FINDINGS),
  }
}

class Check {
  readonly findings: ActionFinding[] = []
  rows = 0
  /** The last row that was read, or deleted by age. */
  last: Head = { seq: 0, mac: '' }
  readonly #keys: ReadonlyMap<string, ActionKey>
  readonly #head: StoredHead | undefined
  readonly #published: ReadonlyMap<number, ReadonlySet<string>>

  constructor(
    keys: ReadonlyMap<string, ActionKey>,
    head: StoredHead | undefined,
    published: readonly Head[],
  ) {
    this.#keys = keys
    this.#head = head
    this.#published = bySeq(published)
    if (!head) this.#find('cut', 0, 'the row of the head is missing')
    else if (head.deleted.seq > 0) this.#startAfterDeleted(head.deleted)
  }
  #find(kind: ActionFinding['kind'], seq: number, detail: string): void {
    this.findings.push({ kind, seq, detail })
  }
  #startAfterDeleted(deleted: StoredHead['deleted']): void {
    const key = this.#keys.get(deleted.key)
    this.last = deleted
    if (!key) this.#find('key', deleted.seq, unknownKey(deleted.key))
    else if (proofOf(deleted, key) !== deleted.proof)
      this.#find('break', deleted.seq, 'it is not signed that rows up to it were deleted')
  }
  row(row: ActionRow): void {
    const { seq, prev } = row
    const { last } = this
    this.rows++
    if (seq > last.seq + 1) {
      const [from, to] = [last.seq + 1, seq - 1]
      this.#find(
        'gap',
        from,
        from === to ? `row ${from} is missing` : `rows ${from} to ${to} are missing`,
      )
    } else if (prev !== last.mac) {
      this.#find('break', seq, `row ${seq} does not follow the row before it`)
    }
    const key = this.#keys.get(row.key)
    if (!key) this.#find('key', seq, unknownKey(row.key))
    else if (macOf(row, key) !== row.mac)
      this.#find('break', seq, `row ${seq} was changed, or not written by a gateway`)
    for (const mac of this.#published.get(seq) ?? [])
      if (mac !== row.mac)
        this.#find(
          'break',
          seq,
          `row ${seq} is not the one that was published: the log was rewritten`,
        )
    if (seq === this.#head?.seq && row.mac !== this.#head.mac)
      this.#find('break', seq, `row ${seq} is not the one that the head names`)
    this.last = { seq, mac: row.mac }
  }
  end(): void {
    const { last } = this
    const head = this.#head
    const lastPublished = Math.max(0, ...this.#published.keys())
    const latest = Math.max(head?.seq ?? 0, lastPublished)
    if (latest > last.seq) {
      const by = lastPublished > last.seq ? 'a published head' : 'the head'
      this.#find(
        'cut',
        last.seq + 1,
        `rows ${last.seq + 1} to ${latest} are missing: ${by} has them`,
      )
    }
  }
}
const unknownKey = (id: string): string =>
  `signed with the key ${id || '(none)'}, which this machine has not: see actions.key and actions.earlier_keys`
const bySeq = (heads: readonly Head[]): ReadonlyMap<number, ReadonlySet<string>> => {
  const map = new Map<number, Set<string>>()
  for (const { seq, mac } of heads) map.set(seq, (map.get(seq) ?? new Set()).add(mac))
  return map
}
