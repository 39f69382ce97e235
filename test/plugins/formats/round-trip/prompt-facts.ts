/** Converts a prompt to comparable facts: two prompts with the same meaning have the same facts,
 *  whatever their shape. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Content, Media, Result } from '../../../../plugins/formats/hub/content.ts'
import type { Prompt, Turn } from '../../../../plugins/formats/hub/prompt.ts'

/** A piece of the conversation. Attributes of a piece become separate facts. */
export type Piece = { readonly role: Turn['role'] } & (
  | { readonly type: 'text' | 'refusal'; readonly text: string }
  | { readonly type: 'media'; readonly media: Media }
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly input: Json
      readonly free: boolean
    }
  | { readonly type: 'result'; readonly id: string; readonly text: string; readonly media: Media[] }
  | {
      readonly type: 'hostedCall'
      readonly work: Extract<Content, { readonly type: 'hostedCall' }>
    }
)
export interface PromptFacts {
  readonly pieces: readonly Piece[]
  readonly facts: ReadonlyMap<string, Json>
}

/** Values that equal the default. */
const DEFAULTS: Readonly<Record<string, readonly Json[]>> = {
  'settings.candidates': [1],
  'settings.frequencyPenalty': [0],
  'settings.presencePenalty': [0],
  'settings.logprobs': [false],
  'settings.alternatives': [0],
  'settings.store': [false],
  'settings.background': [false],
  'settings.parallel': [true],
  'settings.verbosity': ['medium'],
  'settings.modalities': [['text']],
  'settings.tier': ['auto', 'default', 'standard'],
  choice: [{ type: 'auto' }],
  'form.strict': [false],
  'tool.strict': [false],
  'tool.depth': ['medium'],
  'media.detail': ['auto'],
}

export const factsOf = (prompt: Prompt): PromptFacts => {
  const facts = new Map<string, Json>()
  const put = (key: string, value: unknown, of = ''): void => {
    if (value === undefined) return
    const plain = withoutPaths(value)
    const isDefault = DEFAULTS[key]?.some(each => JSON.stringify(each) === JSON.stringify(plain))
    if (!isDefault) facts.set(of === '' ? key : `${key} ${of}`, plain)
  }
  const members = (group: string, fields: object = {}, of = ''): void => {
    for (const [name, value] of Object.entries(fields)) put(`${group}.${name}`, value, of)
  }
  const { turns, tools, settings, form, thinking, previous, choice, cache, stream } = prompt
  members('settings', settings)
  members('form', form)
  members('thinking', thinking)
  members('previous', previous)
  put('choice', choice)
  put('cache', cache)
  put('stream', stream)
  for (const { type, ...tool } of tools) {
    const toolName = 'name' in tool ? tool.name : tool.tool
    put('tool.type', type, toolName)
    members('tool', { ...tool, at: undefined }, toolName)
  }
  for (const [key, values] of attributesOf(turns)) if (values.length > 0) put(key, values)
  return { pieces: mergeTexts(turns.flatMap(pieces)), facts }
}
/** Omits the paths for error messages. */
const withoutPaths = (value: unknown): Json =>
  JSON.parse(JSON.stringify(value, (key, each) => (key === 'at' ? undefined : each))) as Json

// ---------------------------------------------------------------- the conversation

const pieces = ({ role, content }: Turn): readonly Piece[] =>
  content.flatMap((each): readonly Piece[] => {
    if (each.type === 'text' || each.type === 'refusal')
      return [{ role, type: each.type, text: each.text }]
    if (each.type === 'media') return [{ role, type: 'media', media: source(each) }]
    if (each.type === 'call') {
      const { id, name, input, isFreeText = false } = each
      return [
        {
          role,
          type: 'call',
          id,
          name,
          input: isFreeText ? input : parseInput(input),
          free: isFreeText,
        },
      ]
    }
    if (each.type === 'result')
      return [{ role, type: 'result', id: each.id, ...resultContent(each) }]
    if (each.type !== 'hostedCall') return []
    // The place is one of the request, not of the conversation.
    const { at: _, ...work } = each
    return [{ role, type: 'hostedCall', work }]
  })
const source = ({ kind, source: { ...from } }: Media): Media => {
  // Omits media types of URLs, which formats name differently or derive from the URL.
  if (from.type === 'url') delete (from as { mime?: string }).mime
  return { type: 'media', kind, source: from }
}
const resultContent = ({ content }: Result) => ({
  text: content.map(each => (each.type === 'text' ? each.text : '')).join('\n'),
  media: content.flatMap(each => (each.type === 'media' ? [source(each)] : [])),
})
const parseInput = (input: string): Json => {
  try {
    return JSON.parse(input === '' ? '{}' : input) as Json
  } catch {
    return input
  }
}

/** Merges consecutive texts of one role; line breaks between them do not matter. */
export const mergeTexts = (pieces: readonly Piece[]): readonly Piece[] => {
  const rows: Piece[] = []
  for (const piece of pieces) {
    const last = rows.at(-1)
    if (piece.type === 'result') rows.push({ ...piece, text: oneLine(piece.text) })
    else if (piece.type !== 'text') rows.push(piece)
    else if (last?.type === 'text' && last.role === piece.role)
      rows[rows.length - 1] = { ...last, text: oneLine(last.text + piece.text) }
    else if (piece.text.trim() !== '') rows.push({ ...piece, text: oneLine(piece.text) })
  }
  return rows
}
const oneLine = (text: string): string => text.replace(/\n/g, '').trimEnd()

// ---------------------------------------------------------------- attributes of pieces

const attributesOf = (turns: readonly Turn[]): ReadonlyMap<string, readonly unknown[]> => {
  const contents = turns.flatMap(({ content }) => content)
  const all = contents.flatMap((each): readonly Content[] =>
    each.type === 'result' ? [each, ...each.content] : [each],
  )
  const media = all.filter(each => each.type === 'media')
  const valuesOf = <T>(from: readonly T[], key: keyof T): readonly unknown[] =>
    from.flatMap(each => each[key] ?? [])
  const details = valuesOf(media, 'detail').filter(detail => detail !== 'auto')
  return new Map<string, readonly unknown[]>([
    ['turns.names', valuesOf(turns, 'name')],
    ['turns.cache', all.flatMap(each => ('cache' in each && each.cache ? [each.cache] : []))],
    ['turns.citations', all.flatMap(each => (each.type === 'text' ? (each.citations ?? []) : []))],
    ['turns.thoughts', contents.filter(({ type }) => type === 'thought')],
    [
      'turns.payloads',
      contents.flatMap(each =>
        'payload' in each && each.type !== 'thought' && each.payload ? [each.payload] : [],
      ),
    ],
    [
      'turns.failed',
      contents.flatMap(each => ('hasFailed' in each && each.hasFailed ? [true] : [])),
    ],
    ['media.detail', details],
    ['media.name', valuesOf(media, 'name')],
    ['media.context', valuesOf(media, 'context')],
    ['media.cited', valuesOf(media, 'citationsEnabled').filter(Boolean)],
    ['media.clip', valuesOf(media, 'clip')],
  ])
}
