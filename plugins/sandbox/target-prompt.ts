/** Reads the requests of formats that only targets use, as far as the answers of the sandbox depend
 *  on them. */
import type { Json } from '../../engine/plugin.ts'
import type { Content, Media, Text } from '../formats/hub/content.ts'
import type { FunctionTool, Prompt, ToolChoice, Turn } from '../formats/hub/prompt.ts'
import { type Fields, fieldsIn, listIn, numberIn, textIn } from './sandbox-format.ts'

/** The members of a prompt that are read. */
interface TargetPrompt {
  readonly turns: readonly Turn[]
  readonly tools: readonly FunctionTool[]
  readonly choice?: ToolChoice | undefined
  readonly limit: number | undefined
  readonly thinks: boolean
  readonly schema: Json | undefined
  /** The answer is JSON of any form. */
  readonly json?: boolean
  readonly stream: boolean
}
const promptOf = (body: Fields, members: TargetPrompt): Prompt => {
  const { turns, tools, choice, limit, thinks, schema, json = false, stream } = members
  return {
    turns,
    tools,
    ...(choice && { choice }),
    settings: limit === undefined ? {} : { limit },
    ...(thinks && { thinking: { mode: 'adaptive', show: true } }),
    ...(json && { form: { type: 'json' } }),
    ...(schema !== undefined && { form: { type: 'schema', schema } }),
    stream,
    includeUsage: true,
    body,
  }
}
const functionTool = (fields: Fields, schema: Json | undefined): FunctionTool => ({
  type: 'function',
  name: textIn(fields.name),
  ...(schema !== undefined && { schema }),
})
const mediaOf = (base64: string, mime: string, kind: Media['kind']): Media => ({
  type: 'media',
  kind,
  source: { type: 'data', data: base64, mime },
})
const roleOf = (value: Json | undefined): Turn['role'] =>
  value === 'assistant' || value === 'system' ? value : 'user'

// ---------------------------------------------------------------- Bedrock Converse

export const readConverse = (body: Fields, path: string): Prompt => {
  const toolConfig = fieldsIn(body.toolConfig)
  const additional = fieldsIn(body.additionalModelRequestFields)
  const structure = fieldsIn(fieldsIn(fieldsIn(body.outputConfig).textFormat).structure)
  const schema = textIn(fieldsIn(structure.jsonSchema).schema)
  return promptOf(body, {
    turns: [{ role: 'system', content: body.system ?? [] }, ...listIn(body.messages)].map(
      message => {
        const { role, content } = fieldsIn(message)
        return { role: roleOf(role), content: listIn(content).flatMap(each => converseBlock(each)) }
      },
    ),
    tools: listIn(toolConfig.tools).flatMap(tool => {
      const { toolSpec } = fieldsIn(tool)
      const fields = fieldsIn(toolSpec)
      return toolSpec ? [functionTool(fields, fieldsIn(fields.inputSchema).json)] : []
    }),
    choice: converseChoice(fieldsIn(toolConfig.toolChoice)),
    limit: numberIn(fieldsIn(body.inferenceConfig).maxTokens),
    thinks: additional.thinking !== undefined || additional.reasoningConfig !== undefined,
    schema: schema === '' ? undefined : (JSON.parse(schema) as Json),
    stream: path.endsWith('/converse-stream'),
  })
}
const converseChoice = ({ any, tool }: Fields): ToolChoice | undefined => {
  if (tool) return { type: 'tool', name: textIn(fieldsIn(tool).name) }
  return any ? { type: 'required' } : undefined
}
const converseBlock = (block: Json): readonly Content[] => {
  const { text, image: picture, document, toolUse, toolResult } = fieldsIn(block)
  if (typeof text === 'string') return [{ type: 'text', text }]
  if (picture) return [converseMedia(fieldsIn(picture), 'image')]
  if (document) return [converseMedia(fieldsIn(document), 'document')]
  if (toolUse) {
    const { toolUseId, name, input } = fieldsIn(toolUse)
    const call = { id: textIn(toolUseId), name: textIn(name), input: JSON.stringify(input ?? {}) }
    return [{ type: 'call', ...call }]
  }
  if (!toolResult) return []
  const { toolUseId, content } = fieldsIn(toolResult)
  const contents = listIn(content).flatMap(each => converseResult(fieldsIn(each)))
  return [{ type: 'result', id: textIn(toolUseId), content: contents }]
}
const converseResult = ({ text, json }: Fields): readonly Text[] => {
  if (json !== undefined) return [{ type: 'text', text: JSON.stringify(json) }]
  return typeof text === 'string' ? [{ type: 'text', text }] : []
}
const converseMedia = ({ format, source }: Fields, kind: 'image' | 'document'): Media => {
  const family = kind === 'image' ? 'image' : 'application'
  return mediaOf(textIn(fieldsIn(source).bytes), `${family}/${textIn(format)}`, kind)
}

// ---------------------------------------------------------------- Cohere's chat

export const readCohere = (body: Fields): Prompt =>
  promptOf(body, {
    turns: listIn(body.messages).map(message => cohereTurn(fieldsIn(message))),
    tools: listIn(body.tools).map(tool => {
      const fields = fieldsIn(fieldsIn(tool).function)
      return functionTool(fields, fields.parameters)
    }),
    choice: COHERE_CHOICES[textIn(body.tool_choice)],
    limit: numberIn(body.max_tokens),
    thinks: fieldsIn(body.thinking).type === 'enabled',
    json: fieldsIn(body.response_format).type === 'json_object',
    schema: fieldsIn(body.response_format).json_schema,
    stream: body.stream === true,
  })
const COHERE_CHOICES: Readonly<Record<string, ToolChoice>> = {
  REQUIRED: { type: 'required' },
  NONE: { type: 'none' },
}
const cohereTurn = ({ role, content, tool_call_id: id, tool_calls: calls }: Fields): Turn => {
  const contents = typeof content === 'string' ? [{ type: 'text', text: content }] : listIn(content)
  const parts = contents.flatMap(each => coherePart(fieldsIn(each)))
  if (role !== 'tool')
    return {
      role: roleOf(role),
      content: [...parts, ...listIn(calls).map(each => cohereCall(fieldsIn(each)))],
    }
  const texts = parts.filter(part => part.type === 'text')
  return { role: 'user', content: [{ type: 'result', id: textIn(id), content: texts }] }
}
const cohereCall = ({ id, function: called }: Fields): Content => {
  const { name, arguments: input } = fieldsIn(called)
  return { type: 'call', id: textIn(id), name: textIn(name), input: textIn(input) }
}
const coherePart = ({ text, image_url: picture }: Fields): readonly (Text | Media)[] => {
  if (typeof text === 'string') return [{ type: 'text', text }]
  if (!picture) return []
  const url = textIn(fieldsIn(picture).url)
  return [{ type: 'media', kind: 'image', source: { type: 'url', url } }]
}
