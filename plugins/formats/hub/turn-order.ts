/** Brings turns into the order that providers demand: each call has an id of its own and one result
 *  directly behind it, and a last user turn is not empty. Pure. */
import type { Content, Result } from './content.ts'
import type { Turn } from './prompt.ts'

interface OpenTurn extends Turn {
  readonly content: Content[]
}

/** Moves each result to the turn behind its call. The content between them follows the results.
 *  Consecutive assistant turns with calls become one turn. */
export const pairResults = (turns: readonly Turn[]): readonly Turn[] => {
  if (turns.every((turn, index) => isAnswered(turn, turns[index + 1]))) return turns
  const order = new TurnOrder()
  for (const turn of turns) {
    if (turn.role === 'assistant') order.addAssistant(turn)
    else order.addOther(turn)
  }
  const own = new Set(turns)
  return order.turns.filter(turn => turn.content.length > 0 || own.has(turn))
}

const callsOf = ({ role, content }: Turn) =>
  role === 'assistant' ? content.filter(each => each.type === 'call') : []
const isAnswered = (turn: Turn, next: Turn | undefined): boolean => {
  const calls = callsOf(turn)
  if (calls.length === 0) return true
  const results = next?.content.filter(each => each.type === 'result') ?? []
  const ids = new Set(results.map(({ id }) => id))
  return calls.every(({ id }) => ids.has(id))
}

class TurnOrder {
  readonly turns: Turn[] = []
  /** Id of a call without a result so far -> the turn behind it. */
  readonly #openTurns = new Map<string, OpenTurn>()
  /** The last turn with calls, and the turn behind it. */
  #calls: OpenTurn | undefined
  #results: OpenTurn | undefined

  addAssistant(turn: Turn): void {
    const calls = callsOf(turn)
    if (calls.length === 0) return void this.turns.push(turn)
    const last = this.#results
    const isDirectlyBehind = last?.content.length === 0 && last === this.turns.at(-1)
    const results: OpenTurn = isDirectlyBehind ? last : { role: 'user', content: [] }
    for (const { id } of calls) this.#openTurns.set(id, results)
    if (isDirectlyBehind && this.#calls) return pushAll(this.#calls.content, turn.content)
    this.#calls = { ...turn, content: [...turn.content] }
    this.#results = results
    this.turns.push(this.#calls, results)
  }
  addOther(turn: Turn): void {
    const rest: Content[] = []
    let behind: OpenTurn | undefined
    for (const each of turn.content) {
      const open = each.type === 'result' ? this.#openTurns.get(each.id) : undefined
      if (each.type === 'result' && open) {
        open.content.push(each)
        this.#openTurns.delete(each.id)
        behind = open
      } else rest.push(each)
    }
    if (!behind) return void this.turns.push(turn)
    if (rest.length === 0) return
    if (behind === this.turns.at(-1) && turn.name === undefined) pushAll(behind.content, rest)
    else this.turns.push({ ...turn, content: rest })
  }
}
/** A call with spread arguments fails for a long list. */
const pushAll = (list: Content[], added: readonly Content[]): void => {
  for (const each of added) list.push(each)
}

/** Gives a call whose id an earlier call has an id of its own, and its result likewise. Some
 *  servers count the calls of each answer from 0. Several results of one call become one. */
export const separateCalls = (turns: readonly Turn[]): readonly Turn[] => {
  const ids = turns.flatMap(({ content }) => content.map(idOf))
  if (new Set(ids).size === ids.length) return turns
  const calls = new Map<string, NumberedCalls>()
  const freeId = idsInUse()
  const resolved = new Set<string>()
  const separate = (each: Content): Content => {
    if (each.type === 'call') {
      const id = freeId(each.id)
      const numbered = calls.get(each.id)
      if (numbered) numbered.ids.push(id)
      else calls.set(each.id, { ids: [id], next: 0 })
      return { ...each, id }
    }
    if (each.type !== 'result') return each
    const id = nextId(calls.get(each.id), resolved) ?? each.id
    resolved.add(id)
    return { ...each, id }
  }
  return joinResults(turns.map(turn => ({ ...turn, content: turn.content.map(separate) })))
}
/** The calls that have one id of the client. */
interface NumberedCalls {
  readonly ids: string[]
  /** The position of the first call that may lack a result. */
  next: number
}
/** Of the first call without a result, or else of the last one. */
const nextId = (
  calls: NumberedCalls | undefined,
  resolved: ReadonlySet<string>,
): string | undefined => {
  if (!calls) return undefined
  const { ids } = calls
  while (calls.next < ids.length && resolved.has(ids[calls.next] ?? '')) calls.next++
  return ids[calls.next] ?? ids.at(-1)
}
/** Distinct for each call, and the same for all results of a call. */
const idOf = (content: Content): unknown =>
  content.type === 'call' || content.type === 'result' ? `${content.type} ${content.id}` : content
/** Gives each call an id that no earlier one has. */
const idsInUse = (): ((id: string) => string) => {
  const used = new Set<string>()
  /** Id of the client -> the last number behind it. */
  const numbers = new Map<string, number>()
  return id => {
    let free = id
    while (used.has(free)) {
      const number = (numbers.get(id) ?? 1) + 1
      numbers.set(id, number)
      free = `${id}_${number}`
    }
    used.add(free)
    return free
  }
}
/** The first result of a call gets the content of the further ones. */
const joinResults = (turns: readonly Turn[]): readonly Turn[] => {
  const results = new Map<string, Result[]>()
  for (const { content } of turns)
    for (const each of content) {
      if (each.type !== 'result') continue
      const earlier = results.get(each.id)
      if (earlier) earlier.push(each)
      else results.set(each.id, [each])
    }
  const join = (each: Content): readonly Content[] => {
    if (each.type !== 'result') return [each]
    const all = results.get(each.id) ?? []
    if (each !== all[0]) return []
    if (all.length === 1) return [each]
    const { value: _, ...rest } = each
    return [{ ...rest, content: all.flatMap(({ content }) => content) }]
  }
  return turns
    .map(turn => ({ ...turn, content: turn.content.flatMap(join) }))
    .filter(({ content }, index) => content.length > 0 || turns[index]?.content.length === 0)
}

/** Fills a last user turn without content, which some providers refuse and others would take for
 *  none: the model would then continue its own answer. */
export const fillLastTurn = (turns: readonly Turn[]): readonly Turn[] => {
  const last = turns.at(-1)
  if (last?.role !== 'user' || turns.at(-2)?.role === 'user') return turns
  if (!isBlank(last)) return turns
  return [...turns.slice(0, -1), { ...last, content: [{ type: 'text', text: '.' }] }]
}
const isBlank = ({ content }: Turn): boolean =>
  content.every(each => each.type === 'text' && each.text.trim() === '')
/** Whether the conversation is empty: no turn but blank instructions, or instructions and thoughts,
 *  which other providers do not get. */
export const isSilent = (turns: readonly Turn[]): boolean => {
  const spoken = turns.filter(
    ({ content }) => content.length === 0 || content.some(({ type }) => type !== 'thought'),
  )
  const hasThoughts = spoken.length < turns.length
  return spoken.every(turn => turn.role === 'system' && (hasThoughts || isBlank(turn)))
}
