/** Makes a conversation around a sample: turns before and after it, and the calls and results that
 *  belong to it. */
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import type { Client } from './cells.ts'

const CHAT_TOOL = {
  type: 'function',
  function: { name: 'sample0', parameters: { type: 'object', properties: {} } },
}
const OTHER_TOOL = { type: 'function', function: { name: 'other' } }
const chat = (body: LooseObject): LooseObject => {
  const messages = asList(body.messages).flatMap(each => {
    if (each.role === 'tool') {
      const called = { name: 'sample0', arguments: '{}' }
      const calls = [{ id: each.tool_call_id, type: 'function', function: called }]
      return [{ role: 'assistant', content: null, tool_calls: calls }, each]
    }
    const results = asList(each.tool_calls).map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: 'ok',
    }))
    return [each, ...results]
  })
  const user = { role: 'user', content: 'hi' }
  const needsTools = 'tool_choice' in body || 'parallel_tool_calls' in body
  return {
    ...(needsTools && { tools: [CHAT_TOOL, OTHER_TOOL] }),
    ...('function_call' in body && { functions: [{ name: 'sample0' }, { name: 'other' }] }),
    ...body,
    messages: body.messages === undefined ? [user] : [user, ...messages, user],
  }
}
const OUTPUTS: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
}
const responses = (body: LooseObject): LooseObject => {
  const user = { role: 'user', content: 'hi' }
  const parameters = { type: 'object', properties: {} }
  const tool = { type: 'function', name: 'sample0', parameters, strict: false }
  const needsTools = 'tool_choice' in body || 'parallel_tool_calls' in body
  const tools = needsTools ? { tools: [tool, { ...tool, name: 'other' }] } : {}
  if (!Array.isArray(body.input)) return { input: 'hi', ...tools, ...body }
  const items = asList(body.input).flatMap(each => {
    const output = OUTPUTS[asString(each.type)]
    if (output) return [each, { type: output, call_id: each.call_id, output: 'ok' }]
    const call = Object.entries(OUTPUTS).find(([, type]) => type === each.type)?.[0]
    const input = call === 'function_call' ? { arguments: '{}' } : { input: 'a' }
    return call ? [{ type: call, call_id: each.call_id, name: 'sample0', ...input }, each] : [each]
  })
  return { ...tools, ...body, input: [user, ...items, user] }
}
const messages = (body: LooseObject): LooseObject => {
  const user = { role: 'user', content: 'hi' }
  const assistant = { role: 'assistant', content: 'ok' }
  const turns = asList(body.messages).flatMap(each => {
    const blocks = asList(each.content)
    const calls = blocks.filter(({ type }) => type === 'tool_use')
    const results = blocks.filter(({ type }) => type === 'tool_result')
    const uses = results.map(({ tool_use_id: id }) => ({
      type: 'tool_use',
      id,
      name: 'sample0',
      input: {},
    }))
    if (uses.length > 0)
      return [{ role: 'assistant', content: uses }, { ...each, role: 'user' }, assistant]
    if (calls.length > 0) {
      const answers = calls.map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: 'ok',
      }))
      return [{ ...each, role: 'assistant' }, { role: 'user', content: answers }, assistant]
    }
    const isOfAssistant = blocks.some(({ type }) =>
      /thinking|server_tool_use|_tool_result$/.test(asString(type)),
    )
    if (isOfAssistant) return [{ ...each, role: 'assistant' }]
    return each.role === 'user' ? [each, assistant] : [each]
  })
  const tool = { name: 'sample0', input_schema: { type: 'object' } }
  return {
    ...('tool_choice' in body && { tools: [tool, { ...tool, name: 'other' }] }),
    ...body,
    max_tokens: body.max_tokens ?? 4_000,
    messages: [user, ...turns, ...(turns.at(-1)?.role === 'user' ? [assistant] : []), user],
  }
}
const gemini = (body: LooseObject): LooseObject => {
  const user = { role: 'user', parts: [{ text: 'hi' }] }
  const contents = asList(body.contents).flatMap(each => {
    const parts = asList(each.parts)
    const calls = parts.flatMap(part => (part.functionCall ? [asObject(part.functionCall)] : []))
    const answers = parts.flatMap(part =>
      part.functionResponse ? [asObject(part.functionResponse)] : [],
    )
    if (answers.length > 0) {
      const named = answers.map(({ name = 'sample0', id }) => ({
        functionCall: { name, args: {}, ...(id !== undefined && { id }) },
      }))
      const full = parts.map(part =>
        part.functionResponse
          ? {
              ...part,
              functionResponse: {
                name: 'sample0',
                response: {},
                ...asObject(part.functionResponse),
              },
            }
          : part,
      )
      return [
        { role: 'model', parts: named },
        { ...each, role: 'user', parts: full },
      ]
    }
    if (calls.length > 0) {
      const full = parts.map(part =>
        part.functionCall
          ? { ...part, functionCall: { name: 'sample0', ...asObject(part.functionCall) } }
          : part,
      )
      const responses = calls.map(({ name = 'sample0', id }) => ({
        functionResponse: { name, response: { output: 'ok' }, ...(id !== undefined && { id }) },
      }))
      return [
        { ...each, role: 'model', parts: full },
        { role: 'user', parts: responses },
      ]
    }
    return [{ role: 'user', ...each }]
  })
  const names = ['sample0', 'other'].map(name => ({ name }))
  const config = asObject(body.generationConfig)
  const isSchema = 'responseSchema' in config || 'responseJsonSchema' in config
  return {
    ...('toolConfig' in body && { tools: [{ functionDeclarations: names }] }),
    ...body,
    ...(isSchema && { generationConfig: { ...config, responseMimeType: 'application/json' } }),
    contents: [user, ...contents, user],
  }
}
const interactions = (body: LooseObject): LooseObject => {
  const user = { type: 'user_input', content: [{ type: 'text', text: 'hi' }] }
  const tools = ['sample0', 'other'].map(name => ({ type: 'function', name }))
  const needsTools = 'tool_choice' in asObject(body.generation_config)
  const steps = asList(body.input).flatMap(each => {
    const type = asString(each.type)
    const call = { type: 'function_call', id: each.call_id, name: 'sample0', arguments: {} }
    if (type === 'function_result') return [call, each]
    const result = { type: 'function_result', call_id: each.id, result: 'ok' }
    return type === 'function_call' ? [each, result] : [each]
  })
  const isList = Array.isArray(body.input) && asString(steps[0]?.type).includes('_')
  return {
    input: 'hi',
    ...(needsTools && { tools }),
    ...body,
    ...(isList && { input: [user, ...steps, user] }),
  }
}
const REPAIRS: Readonly<Record<Client, (body: LooseObject) => LooseObject>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
  'google-gemini': gemini,
  'google-interactions': interactions,
}
export const repair = (client: Client, body: LooseObject): LooseObject => REPAIRS[client](body)
