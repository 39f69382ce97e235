/** Offers a function with one text in place of each free-text tool to targets without such tools,
 *  and restores the calls of free-text tools in answers. Pure. */
import { isFields, parseJson } from '../fields.ts'
import type { Answer, Part } from './answer.ts'
import type { StreamDecoder, TargetCodec } from './codec.ts'
import type { Call, Content } from './content.ts'
import type { FreeTool, FunctionTool, Prompt, Tool } from './prompt.ts'

/** Marks the names of such functions for the decoder. */
export const FREE_PREFIX = 'tollgate_text_'
export const encodeToolName = ({ name, isFreeText }: Pick<Call, 'name' | 'isFreeText'>): string =>
  isFreeText ? FREE_PREFIX + name : name
export const decodeToolName = (name: string): Pick<Call, 'name' | 'isFreeText'> =>
  name.startsWith(FREE_PREFIX)
    ? { name: name.slice(FREE_PREFIX.length), isFreeText: true }
    : { name }

const SCHEMA = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

export const withFunctionsForFreeTools = (prompt: Prompt): Prompt => {
  const { tools, turns } = prompt
  const isFree = (each: Content): boolean => 'isFreeText' in each && each.isFreeText === true
  const hasFree = tools.some(({ type }) => type === 'free')
  if (!hasFree && !turns.some(({ content }) => content.some(isFree))) return prompt
  return {
    ...prompt,
    tools: tools.map(tool => (tool.type === 'free' ? functionFor(tool) : tool)),
    turns: turns.map(turn => ({ ...turn, content: turn.content.map(withoutFreeText) })),
  }
}
const functionFor = ({ grammar, ...tool }: FreeTool): FunctionTool => {
  const description = [tool.description, describeGrammar(grammar)].filter(Boolean).join('\n\n')
  return {
    ...tool,
    type: 'function',
    schema: SCHEMA,
    ...(description !== '' && { description }),
  }
}
const describeGrammar = (grammar: FreeTool['grammar']): string | undefined =>
  isFields(grammar) && typeof grammar.definition === 'string'
    ? `The input follows this grammar (${String(grammar.syntax)}):\n${grammar.definition}`
    : undefined
const withoutFreeText = (content: Content): Content => {
  if ((content.type !== 'call' && content.type !== 'result') || !content.isFreeText) return content
  const { isFreeText: _, ...rest } = content
  return rest.type === 'call' ? { ...rest, input: JSON.stringify({ input: rest.input }) } : rest
}

/** A codec whose answers call the free-text tools of a client as such: also a target that takes
 *  them may call a function of that name. */
export const restoreFreeCalls = (codec: TargetCodec, tools: readonly Tool[]): TargetCodec => {
  const keys = new Set(
    tools.flatMap(tool =>
      tool.type === 'free' ? [keyOf({ ...tool, namespace: tool.namespace?.name })] : [],
    ),
  )
  if (keys.size === 0) return codec
  const isMeant = (content: Content): content is Call =>
    content.type === 'call' && !content.isFreeText && keys.has(keyOf(content))
  const restore = (content: Content): Content =>
    isMeant(content) ? { ...content, isFreeText: true, input: textIn(content.input) } : content
  return {
    ...codec,
    decodeAnswer: body => restoreAnswer(codec.decodeAnswer(body), restore),
    decodeStream: () => restoreStream(codec.decodeStream(), isMeant),
  }
}
interface Named {
  readonly name: string
  readonly namespace?: string | undefined
}
const keyOf = ({ name, namespace }: Named): string => JSON.stringify([name, namespace])
const restoreAnswer = (answer: Answer, restore: (content: Content) => Content): Answer => ({
  ...answer,
  choices: answer.choices.map(choice => ({ ...choice, content: choice.content.map(restore) })),
})

/** The text is known when the arguments are complete. */
const restoreStream = (
  decoder: StreamDecoder,
  isMeant: (content: Content) => content is Call,
): StreamDecoder => {
  const inputs = new Map<number, string>()
  const restore = (part: Part, emit: (part: Part) => void): void => {
    if (part.type === 'open' && isMeant(part.content)) {
      inputs.set(part.index, part.content.input)
      return emit({ ...part, content: { ...part.content, isFreeText: true, input: '' } })
    }
    const input = 'index' in part ? inputs.get(part.index) : undefined
    if (input === undefined) return emit(part)
    if (part.type === 'grow') return void inputs.set(part.index, input + part.text)
    if (part.type === 'close') {
      const text = textIn(input)
      if (text !== '') emit({ type: 'grow', index: part.index, text })
    }
    emit(part)
  }
  return {
    push: (event, emit) => decoder.push(event, part => restore(part, emit)),
    close: emit => decoder.close(part => restore(part, emit)),
    get mayHaveEnded() {
      return decoder.mayHaveEnded === true
    },
  }
}
/** The only text among the arguments, or else all that the model sent. */
const textIn = (input: string): string => {
  const value = parseJson(input)
  if (typeof value === 'string') return value
  const texts = isFields(value) ? Object.values(value) : []
  const [only] = isFields(value) && 'input' in value ? [value.input] : texts
  return typeof only === 'string' && (texts.length === 1 || 'input' in (value as object))
    ? only
    : input
}
