/** Requests that OpenAI's Responses refuses although they fit its types. */
import { asList, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import { longIds, OPENAI_RULES } from './openai.ts'
import { duplicates, has, isEmptyList, type Rule, type Rules, when } from './rule.ts'

const itemsOf = (body: LooseObject): readonly LooseObject[] => asList(body.input)
const continues = (body: LooseObject): boolean =>
  has(body, 'previous_response_id') || has(body, 'conversation')
const CALLS: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
}

/** "No tool output found for function call X", "No tool call found for function call output with
 *  call_id X". */
const pairs: Rule = ({ body }) =>
  Object.entries(CALLS).flatMap(([call, output]) => {
    const idsOf = (type: string): readonly string[] =>
      itemsOf(body).flatMap(each => (each.type === type ? [asString(each.call_id)] : []))
    const [calls, outputs] = [idsOf(call), idsOf(output)]
    return [
      ...calls.filter(id => !outputs.includes(id)).map(id => `input: no output of ${id}`),
      ...(continues(body) ? [] : outputs.filter(id => !calls.includes(id))).map(
        id => `input: no call of ${id}`,
      ),
      ...[...duplicates(calls), ...duplicates(outputs)].map(id => `input: ${id} occurs twice`),
    ]
  })
const ids: Rule = ({ body }) =>
  longIds(itemsOf(body).flatMap(each => (typeof each.call_id === 'string' ? [each.call_id] : [])))
/** "Invalid 'input[1].id': 'X'. Expected an ID that begins with 'fc'", of at most 64 characters. */
const PREFIXES: Readonly<Record<string, string>> = {
  function_call: 'fc',
  message: 'msg',
  reasoning: 'rs',
  custom_tool_call: 'ctc',
}
const itemIds: Rule = ({ body }) =>
  itemsOf(body).flatMap(({ type, id }) => {
    const prefix = PREFIXES[asString(type)]
    if (typeof id !== 'string' || prefix === undefined) return []
    return when(!id.startsWith(prefix) || id.length > 64, `input: the id ${id} of a ${type}`)
  })
/** "Item with id 'rs_…' not found. Items are not persisted when store is set to false": a reasoning
 *  item is found or has its content. Items of other gateways are never found. */
const reasoning: Rule = ({ body, family }) => {
  // Others sign nothing.
  if (family.provider !== 'openai') return []
  const items = itemsOf(body)
  return items.flatMap((each, index) => {
    if (each.type !== 'reasoning') return []
    const next = items[index + 1]
    const isFollowed =
      next !== undefined &&
      /^(?!reasoning)/.test(asString(next.type ?? 'message')) &&
      next.role !== 'user' &&
      !asString(next.type).endsWith('_output')
    return [
      ...when(
        body.store === false && asString(each.encrypted_content) === '',
        `input/${index}: reasoning without encrypted_content beside store: false`,
      ),
      // "Item 'rs_…' of type 'reasoning' was provided without its required following item."
      ...when(
        !isFollowed && next?.type !== 'reasoning',
        `input/${index}: reasoning without the item that follows it`,
      ),
    ]
  })
}
/** "Encrypted content is not supported with this model." */
const encrypted: Rule = ({ body, family }) =>
  when(
    family.provider === 'openai' &&
      !family.reasons &&
      (asList(body.include) as readonly unknown[]).includes('reasoning.encrypted_content'),
    'include: reasoning.encrypted_content at a model that does not reason',
  )
/** "One of 'input' or 'previous_response_id' or 'prompt' or 'conversation_id' must be provided." */
const input: Rule = ({ body }) => [
  ...when(
    (body.input === undefined || isEmptyList(body.input) || body.input === '') &&
      !continues(body) &&
      !has(body, 'prompt'),
    'input: empty',
  ),
  ...when(
    has(body, 'previous_response_id') && has(body, 'conversation'),
    'previous_response_id beside conversation',
  ),
]
/** "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'." */
const contents: Rule = ({ body }) =>
  itemsOf(body).flatMap(({ role, content }, index) =>
    asList(content)
      .filter(
        ({ type }) => (role === 'assistant') !== /^(?:output_text|refusal)$/.test(asString(type)),
      )
      .map(({ type }) => `input/${index}: ${type} in a message of ${role}`),
  )
/** "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16". */
const maxOutput: Rule = ({ body }) =>
  when(Number(body.max_output_tokens ?? 16) < 16, 'max_output_tokens: below 16')
/** "Missing required parameter: 'input[0].content[0].filename'." */
const files: Rule = ({ body }) =>
  itemsOf(body).flatMap(({ content, output }, index) =>
    [...asList(content), ...asList(output)]
      .filter(
        each => each.type === 'input_file' && has(each, 'file_data') && !has(each, 'filename'),
      )
      .map(() => `input/${index}: file_data without filename`),
  )

export const RESPONSES_RULES: Rules = {
  ...OPENAI_RULES,
  pairs,
  ids,
  'item-ids': itemIds,
  reasoning,
  encrypted,
  input,
  contents,
  'max-output': maxOutput,
  files,
}
