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
  const ordered: Turn[] = []
  /** Id of a call without a result so far -> the turn behind it. */
  const openTurns = new Map<string, OpenTurn>()
  for (const turn of turns) {
    if (turn.role === 'assistant') addAssistant(turn, ordered, openTurns)
    else addOther(turn, ordered, openTurns)
  }
  return ordered.filter(turn => turn.content.length > 0 || turns.includes(turn))
}

const callsOf = ({ role, content }: Turn) =>
  role === 'assistant' ? content.filter(each => each.type === 'call') : []
const isAnswered = (turn: Turn, next: Turn | undefined): boolean =>
  callsOf(turn).every(({ id }) =>
    next?.content.some(each => each.type === 'result' && each.id === id),
  )

const addAssistant = (turn: Turn, ordered: Turn[], openTurns: Map<string, OpenTurn>): void => {
  const calls = callsOf(turn)
  if (calls.length === 0) return void ordered.push(turn)
  const results = ordered.at(-1)
  const isDirectlyBehind =
    results?.content.length === 0 && [...openTurns.values()].includes(results as OpenTurn)
  const earlier = isDirectlyBehind ? ordered.splice(-2)[0] : undefined
  ordered.push(earlier ? { ...earlier, content: [...earlier.content, ...turn.content] } : turn)
  const open: OpenTurn = isDirectlyBehind ? (results as OpenTurn) : { role: 'user', content: [] }
  for (const { id } of calls) openTurns.set(id, open)
  ordered.push(open)
}
const addOther = (turn: Turn, ordered: Turn[], openTurns: Map<string, OpenTurn>): void => {
  const rest: Content[] = []
  let behind: OpenTurn | undefined
  for (const each of turn.content) {
    const open = each.type === 'result' ? openTurns.get(each.id) : undefined
    if (each.type === 'result' && open) {
      open.content.push(each)
      openTurns.delete(each.id)
      behind = open
    } else rest.push(each)
  }
  if (!behind) return void ordered.push(turn)
  if (rest.length === 0) return
  if (behind === ordered.at(-1) && turn.name === undefined) behind.content.push(...rest)
  else ordered.push({ ...turn, content: rest })
}

/** Gives a call whose id an earlier call has an id of its own, and its result likewise. Some
 *  servers count the calls of each answer from 0. Several results of one call become one. */
export const separateCalls = (turns: readonly Turn[]): readonly Turn[] => {
  const ids = turns.flatMap(({ content }) => content.map(idOf))
  if (new Set(ids).size === ids.length) return turns
  /** Id of the client -> ids of its calls without a result so far, or of the last one. */
  const open = new Map<string, string[]>()
  const [used, resolved] = [new Set<string>(), new Set<string>()]
  const separate = (each: Content): Content => {
    if (each.type === 'call') {
      const id = freeId(each.id, used)
      used.add(id)
      const waiting = (open.get(each.id) ?? []).filter(other => !resolved.has(other))
      open.set(each.id, [...waiting, id])
      return { ...each, id }
    }
    if (each.type !== 'result') return each
    const ids = open.get(each.id) ?? []
    const id = ids.find(other => !resolved.has(other)) ?? ids.at(-1) ?? each.id
    resolved.add(id)
    return { ...each, id }
  }
  return joinResults(turns.map(turn => ({ ...turn, content: turn.content.map(separate) })))
}
/** Distinct for each call, and the same for all results of a call. */
const idOf = (content: Content): unknown =>
  content.type === 'call' || content.type === 'result' ? `${content.type} ${content.id}` : content
const freeId = (id: string, used: ReadonlySet<string>): string => {
  let free = id
  for (let number = 2; used.has(free); number++) free = `${id}_${number}`
  return free
}
/** The first result of a call gets the content of the further ones. */
const joinResults = (turns: readonly Turn[]): readonly Turn[] => {
  const results = new Map<string, Result[]>()
  for (const { content } of turns)
    for (const each of content)
      if (each.type === 'result') results.set(each.id, [...(results.get(each.id) ?? []), each])
  const join = (each: Content): readonly Content[] => {
    if (each.type !== 'result') return [each]
    const [first, ...others] = results.get(each.id) ?? []
    if (each !== first) return []
    if (others.length === 0) return [each]
    const { value: _, ...rest } = each
    return [{ ...rest, content: [each, ...others].flatMap(({ content }) => content) }]
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
