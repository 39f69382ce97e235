/** Requests that Bedrock's Converse refuses although they fit its types. Quoted texts are its own;
 *  patterns and lengths are those of docs.aws.amazon.com/bedrock/latest/APIReference. */
import {
  asList,
  asNumber,
  asObject,
  asString,
  type LooseObject,
} from '../helpers/formats/loose-json.ts'
import { beyond, duplicates, has, INT32, objectsIn, type Rule, type Rules, when } from './rule.ts'

const messagesOf = (body: LooseObject): readonly LooseObject[] => asList(body.messages)
const inside = (message: LooseObject | undefined, member: string): readonly LooseObject[] =>
  asList(message?.content).flatMap(each => (has(each, member) ? [asObject(each[member])] : []))
const toolsOf = (body: LooseObject): readonly LooseObject[] =>
  asList(asObject(body.toolConfig).tools).flatMap(each =>
    has(each, 'toolSpec') ? [asObject(each.toolSpec)] : [],
  )

/** "A conversation must start with a user message", "roles must alternate between "user" and
 *  "assistant"". */
const order: Rule = ({ body }) => {
  const messages = messagesOf(body)
  return [
    ...when(
      messages.length === 0 || messages[0]?.role !== 'user',
      'messages: the first is not of the user',
    ),
    ...messages.flatMap(({ role, content }, index) => [
      ...when(role === messages[index - 1]?.role, `messages/${index}: ${role} after ${role}`),
      ...when(asList(content).length === 0, `messages/${index}: empty`),
    ]),
  ]
}
/** "Expected toolResult blocks at messages.2.content for the following Ids", "The number of
 *  toolResult blocks exceeds the number of toolUse blocks of previous turn". */
const pairs: Rule = ({ body }) => {
  const messages = messagesOf(body)
  return messages.flatMap((each, index) => {
    const openIds = inside(messages[index - 1], 'toolUse').map(({ toolUseId: id }) => asString(id))
    const results = inside(each, 'toolResult').map(({ toolUseId: id }) => asString(id))
    return [
      ...openIds
        .filter(id => !results.includes(id))
        .map(id => `messages/${index}: no result of ${id}`),
      ...results
        .filter(id => !openIds.includes(id))
        .map(id => `messages/${index}: no call of ${id}`),
      ...when(
        index === messages.length - 1 && inside(each, 'toolUse').length > 0,
        'calls are last',
      ),
    ]
  })
}
/** ToolUseBlock: `toolUseId` [a-zA-Z0-9_.:-]+, 1 to 64; ToolSpecification: `name` [a-zA-Z0-9_-]+, 1
 *  to 64. */
const names: Rule = ({ body }) => {
  const tools = toolsOf(body).map(({ name }) => asString(name))
  const calls = messagesOf(body).flatMap(each => inside(each, 'toolUse'))
  return [
    ...calls
      .map(({ toolUseId: id }) => asString(id))
      .filter(id => !/^[a-zA-Z0-9_.:-]{1,64}$/.test(id))
      .map(id => `the call id "${id}"`),
    ...[...tools, ...calls.map(({ name }) => asString(name))]
      .filter(name => !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      .map(name => `the name "${name}"`),
    ...duplicates(tools).map(name => `two tools are named "${name}"`),
  ]
}
/** "The toolConfig field must be defined when using toolUse and toolResult content blocks",
 *  "The json field in inputSchema must be an object", a toolChoice of a tool that exists. */
const tools: Rule = ({ body }) => {
  const used = messagesOf(body).some(each =>
    ['toolUse', 'toolResult'].some(key => inside(each, key).length > 0),
  )
  const { name } = asObject(asObject(asObject(body.toolConfig).toolChoice).tool)
  return [
    ...when(used && toolsOf(body).length === 0, 'calls without toolConfig'),
    ...when(
      has(body, 'toolConfig') && asList(asObject(body.toolConfig).tools).length === 0,
      'toolConfig without tools',
    ),
    ...toolsOf(body)
      .filter(each => asObject(asObject(each.inputSchema).json).type !== 'object')
      .map(each => `${each.name}: the root is not an object`),
    ...toolsOf(body)
      .filter(each => each.description === '')
      .map(each => `${each.name}: an empty description`),
    ...when(
      name !== undefined && !toolsOf(body).some(each => each.name === name),
      `toolChoice: ${name}`,
    ),
  ]
}
/** "The text field in the ContentBlock object at messages.0.content.0 is blank." */
const texts: Rule = ({ body }) =>
  [...objectsIn(body.messages, 'messages'), ...objectsIn(body.system, 'system')]
    .filter(([each, path]) => /\/content\/\d+$|^system/.test(path) && typeof each.text === 'string')
    .filter(([each]) => asString(each.text).trim() === '')
    .map(([, path]) => `${path}: a blank text`)
/** DocumentBlock: `name` has letters, digits, single white space, hyphens, parentheses and
 *  brackets, 1 to 200; "A document requires a text block beside it". ImageBlock: png, jpeg,
 *  gif, webp. */
const DOCUMENTS = ['pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md']
const media: Rule = ({ body }) =>
  messagesOf(body).flatMap((each, index) => {
    const documents = inside(each, 'document')
    const hasText = asList(each.content).some(block => typeof block.text === 'string')
    return [
      ...inside(each, 'image')
        .filter(({ format }) => !['png', 'jpeg', 'gif', 'webp'].includes(asString(format)))
        .map(({ format }) => `messages/${index}: an image of ${format}`),
      ...documents
        .filter(({ format }) => has({ format }, 'format') && !DOCUMENTS.includes(asString(format)))
        .map(({ format }) => `messages/${index}: a document of ${format}`),
      ...documents
        .map(({ name }) => asString(name))
        .filter(name => !/^(?!.*\s\s)[a-zA-Z0-9\s()[\]-]{1,200}$/.test(name))
        .map(name => `messages/${index}: the document name "${name}"`),
      ...when(documents.length > 0 && !hasText, `messages/${index}: a document without text`),
    ]
  })
/** Claude's thinking: "signature: Field required" in reasoningText. */
const signatures: Rule = ({ body }) =>
  messagesOf(body)
    .flatMap(each => inside(each, 'reasoningContent'))
    .filter(
      each => has(each, 'reasoningText') && asString(asObject(each.reasoningText).signature) === '',
    )
    .map(() => 'reasoningText without a signature')
/** InferenceConfiguration: temperature and topP 0 to 1; docs, prompt caching: at most 4 cache
 *  points. */
const settings: Rule = ({ body, family }) => {
  const { temperature, topP, stopSequences } = asObject(body.inferenceConfig)
  const { effort } = asObject(body.outputConfig)
  const points = objectsIn(body).filter(([each]) => has(each, 'cachePoint')).length
  return [
    ...when(asNumber(temperature) > 1 || asNumber(topP) > 1, 'temperature or topP: beyond 1'),
    ...when(
      (asList(stopSequences) as readonly unknown[]).includes(''),
      'stopSequences: an empty one',
    ),
    ...beyond(asObject(body.inferenceConfig), { maxTokens: [1, INT32, true], topP: [0, 1] }),
    ...when(
      effort !== undefined && !family.efforts?.includes(asString(effort)),
      `effort ${effort} at ${family.name}`,
    ),
    ...when(points > 4, `${points} cache points`),
  ]
}

export const CONVERSE_RULES: Rules = {
  order,
  pairs,
  names,
  tools,
  texts,
  media,
  signatures,
  settings,
}
