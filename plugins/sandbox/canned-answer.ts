/** The sandbox's answers to conversations: deterministic, and they say that no upstream was called.
 *  Pure. */
import { createHash } from 'node:crypto'
import { parseJson } from '../formats/fields.ts'
import { omitZeroMeters } from '../formats/format.ts'
import type { Answer, Stop } from '../formats/hub/answer.ts'
import type { Citation, Content, Media, OpaquePayload, Text } from '../formats/hub/content.ts'
import { JSON_REQUEST, schemaRequest } from '../formats/hub/form-request.ts'
import type { FreeTool, FunctionTool, Prompt } from '../formats/hub/prompt.ts'
import { itemId } from '../formats/openai-responses/name.ts'
import { hostedContents, sourcesOf } from './hosted-tools.ts'
import { sampleValue } from './sample-value.ts'
import { wordsOf } from './words.ts'

/** The words before the schema in `schemaRequest`. */
const SCHEMA_REQUEST = schemaRequest('').slice(0, -'""'.length)

/** A request, decoded by its format. */
export interface Question {
  readonly prompt: Prompt
  /** The upstream's name of the model. */
  readonly model: string
  /** The name of the format. */
  readonly format: string
  /** The id of the answer, without a prefix. */
  readonly id: string
  readonly inputTokens: number
  readonly habits: ProviderHabits
}
/** The choices of a format's provider that the format leaves open. */
export interface ProviderHabits {
  /** Thoughts are shown if the request does not say. */
  readonly showsThoughts?: true
  /** A thought that is not shown is a part of the answer all the same, without its text. */
  readonly keepsHiddenThoughts?: true
  /** The content that carries a signature of the thoughts. */
  signedContent?(prompt: Prompt): 'thought' | 'call' | undefined
  /** The prefix of the ids of calls. Default: `call_`. */
  readonly callPrefix?: string
}

/** Maximum of answers to one request. */
const MAX_CHOICES = 8

export const cannedAnswer = (question: Question): Answer => {
  const { prompt, inputTokens } = question
  const thinking = thinkingOf(question)
  const {
    contents,
    tokens,
    stop,
    searches = 0,
  } = callOf(question) ?? textOf(question, thinking.tokens)
  const count = Math.min(prompt.settings.candidates ?? 1, MAX_CHOICES)
  const choice = { content: [...thinking.contents, ...contents], stop }
  return {
    choices: Array.from({ length: count }, () => choice),
    tier: 'default',
    meters: omitZeroMeters({
      input: inputTokens,
      output: tokens * count,
      thinking: thinking.tokens * count,
      web_search: searches,
    }),
  }
}

/** Contents of an answer, and their tokens. */
interface Draft {
  readonly contents: readonly Content[]
  readonly tokens: number
}
interface FinalDraft extends Draft {
  readonly stop: Stop
  readonly searches?: number
}

// ---------------------------------------------------------------- thoughts

const thinkingOf = (question: Question): Draft => {
  const { prompt, habits } = question
  if (!thinks(prompt)) return { contents: [], tokens: 0 }
  const text = `The sandbox calls no model, so I repeat the request. It says: ${quote(userText(prompt))}`
  const tokens = wordsOf(text).length
  const isShown = prompt.thinking?.show ?? habits.showsThoughts ?? false
  if (!isShown && !habits.keepsHiddenThoughts) return { contents: [], tokens }
  const thought = { type: 'thought', text: isShown ? text : '' } as const
  return { contents: [{ ...thought, ...signatureFor('thought', question) }], tokens }
}
const thinks = ({ thinking }: Prompt): boolean => thinking !== undefined && thinking.mode !== 'off'

const signatureFor = (
  content: 'thought' | 'call',
  { prompt, habits, format, id }: Question,
): { readonly payload?: OpaquePayload } => {
  if (!thinks(prompt) || habits.signedContent?.(prompt) !== content) return {}
  const text = createHash('sha512').update(userText(prompt)).digest('base64')
  // An encrypted thought of the Responses API is bound to the id of its item, the first one.
  return { payload: { origin: format, data: text, id: itemId('rs', id, 0) } }
}

// ---------------------------------------------------------------- calls

/** A call of the first tool that the request offers or forces; undefined once a tool has
 *  answered. */
const callOf = (question: Question): FinalDraft | undefined => {
  const { prompt, id, habits } = question
  const tool = offeredTools(prompt)[0]
  if (!tool || toolResult(prompt) !== undefined) return undefined
  const isFreeText = tool.type === 'free'
  const input = isFreeText ? 'sandbox' : JSON.stringify(sampleValue(tool.schema))
  const call = {
    type: 'call',
    id: `${habits.callPrefix ?? 'call_'}${id}`,
    name: tool.name,
    ...(tool.namespace && { namespace: tool.namespace.name }),
    input,
    ...(isFreeText && { isFreeText }),
    ...signatureFor('call', question),
  } as const
  return { contents: [call], tokens: wordsOf(input).length, stop: { reason: 'call' } }
}
const offeredTools = ({ tools, choice }: Prompt): readonly (FunctionTool | FreeTool)[] => {
  const own = tools.filter(tool => tool.type === 'function' || tool.type === 'free')
  if (choice?.type === 'none') return []
  if (choice?.type === 'tool') return own.filter(({ name }) => name === choice.name)
  return choice?.type === 'some' ? own.filter(({ name }) => choice.names.includes(name)) : own
}

// ---------------------------------------------------------------- texts

/** `spent`: tokens of the output limit that thoughts have used. */
const textOf = (question: Question, spent: number): FinalDraft => {
  const { prompt, id, format } = question
  const { tools, choice, settings } = prompt
  const form = formOf(prompt)
  const context = { text: userText(prompt), id, format }
  const hosted = choice?.type === 'none' ? [] : hostedContents(tools, context)
  const sources = form ? [] : sourcesOf(hosted)
  const cited = sources.length > 0 ? wordsOf(CITED) : []
  const words = [...cited, ...wordsOf(form ? formText(form) : answerText(question, hosted))]
  const allowed = words.slice(0, Math.max(1, (settings.limit ?? Infinity) - spent))
  return {
    contents: [
      ...hosted,
      ...textContent(allowed.slice(0, cited.length), sources),
      ...textContent(allowed.slice(cited.length)),
    ],
    tokens: allowed.length,
    stop: { reason: allowed.length < words.length ? 'length' : 'end' },
    searches: hosted.filter(isSearch).length,
  }
}
const CITED = 'A page of the sandbox says that nothing was searched. '
const isSearch = (content: Content): boolean =>
  content.type === 'hostedCall' && content.tool === 'web_search'

/** A text that its sources support as a whole; none without words. */
const textContent = (
  words: readonly string[],
  sources: readonly Citation[] = [],
): readonly Text[] => {
  const text = words.join('')
  if (text === '') return []
  const citations = sources.map(each => ({ ...each, quote: text, start: 0, end: text.length }))
  return [{ type: 'text', text, ...(citations.length > 0 && { citations }) }]
}

/** The form of the answer: a member of the request, or what the gateway asks models for in words
 *  that have no such member. */
const formOf = ({ form, turns }: Prompt): Prompt['form'] => {
  if (form) return form
  for (const { role, content } of turns) {
    const text = role === 'system' ? joinTexts(content) : ''
    if (text.includes(JSON_REQUEST)) return { type: 'json' }
    const [, schema] = text.split(SCHEMA_REQUEST)
    const value = schema === undefined ? undefined : parseJson(schema.split('\n', 1)[0] ?? '')
    if (value !== undefined) return { type: 'schema', schema: value }
  }
  return undefined
}
const formText = (form: NonNullable<Prompt['form']>): string =>
  JSON.stringify(form.type === 'schema' ? sampleValue(form.schema) : { answer: 'sandbox' })

const answerText = ({ prompt, model }: Question, hosted: readonly Content[]): string => {
  const result = toolResult(prompt)
  if (result !== undefined) return `The tool answered: ${quote(result)}`
  const mediaText = lastContents(prompt)
    .flatMap(content => (content.type === 'media' ? [`I see ${describe(content)}. `] : []))
    .join('')
  const toolText = hosted
    .flatMap(content => (content.type === 'hostedCall' ? [content.output ?? ''] : []))
    .filter(output => output !== '')
    .map(output => `The tool returned: ${quote(String(output).trim())}. `)
    .join('')
  return `${mediaText}${toolText}${greeting(model, userText(prompt))}`
}
/** The text of an answer without media and tools. */
export const greeting = (model: string, text: string): string =>
  `This is the sandbox answering as ${model}; no upstream was called. You wrote: ${quote(text)}`
const quote = (text: string): string =>
  `"${text.length > 200 ? `${text.slice(0, 200).trimEnd()}…` : text}"`

const ARTICLES = { image: 'an', document: 'a', audio: 'an', video: 'a' } as const
const describe = ({ kind, source }: Media): string => {
  const noun = kind === 'audio' ? 'audio file' : kind
  if (source.type === 'url') return `${ARTICLES[kind]} ${noun} at ${source.url.slice(0, 120)}`
  if (source.type === 'file') return `the file ${source.file}`
  if (source.type === 'text') return `a document of ${source.text.length} characters`
  const type = source.mime.slice(source.mime.indexOf('/') + 1).toUpperCase()
  return `an inline ${type} ${noun} of ${Buffer.byteLength(source.data, 'base64')} bytes`
}

// ---------------------------------------------------------------- the user's last turn

const lastContents = ({ turns }: Prompt): readonly Content[] =>
  turns.findLast(({ role }) => role === 'user')?.content ?? []
const userText = (prompt: Prompt): string => joinTexts(lastContents(prompt))
const joinTexts = (contents: readonly Content[]): string =>
  contents.map(content => (content.type === 'text' ? content.text : '')).join('')
/** The first result of a tool in the last turn; undefined if it has none. */
const toolResult = (prompt: Prompt): string | undefined => {
  const result = lastContents(prompt).find(({ type }) => type === 'result')
  if (result?.type !== 'result') return undefined
  return result.value === undefined ? joinTexts(result.content) : JSON.stringify(result.value)
}
