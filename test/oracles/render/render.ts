/** Writes a scenario as a request of each client format, as its SDKs write it. */
import type { LooseObject } from '../../helpers/formats/loose-json.ts'
import type { Client, ClientRequest } from '../cells.ts'
import type { CallStep, Media, Scenario, Step, ToolPart } from '../scenarios.ts'
import { interactionsBody } from './interactions.ts'
import { withOddShape } from './odd-shapes.ts'
import {
  bytesOf,
  CACHE,
  dataUrl,
  FORM,
  hasImage,
  isFile,
  isUrl,
  PNG,
  resultText,
  SIGNATURE,
  TYPES,
  withoutUndefined,
} from './parts.ts'

// ---------------------------------------------------------------- chat completions

const chatMedia = (media: Media): LooseObject =>
  isFile(media)
    ? { type: 'file', file: { filename: 'a.pdf', file_data: dataUrl('pdf') } }
    : { type: 'image_url', image_url: { url: isUrl(media) ? TYPES[media] : dataUrl(media) } }
const chatSteps = (step: Step, { isShort }: Scenario): readonly LooseObject[] => {
  if (step.type === 'system') return [{ role: 'system', content: step.text }]
  if (step.type === 'user') {
    const text = { type: 'text', text: step.text }
    const isPlain = isShort && step.media.length === 0
    return [{ role: 'user', content: isPlain ? step.text : [text, ...step.media.map(chatMedia)] }]
  }
  const thought = step.thought ? { reasoning_content: 'I think.' } : {}
  if (step.type === 'assistant') return [{ role: 'assistant', content: step.text, ...thought }]
  const calls = step.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return [
    { role: 'assistant', content: step.text ?? null, tool_calls: calls, ...thought },
    ...step.calls.map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: step.result === 'parts' ? [{ type: 'text', text: 'sunny' }] : resultText(step),
    })),
  ]
}
const chatTool = ({ name, schema, strict }: ToolPart): LooseObject => ({
  type: 'function',
  function: withoutUndefined({ name, description: 'A tool.', parameters: schema, strict }),
})
const chatChoice = (scenario: Scenario): unknown =>
  scenario.choice === 'one'
    ? { type: 'function', function: { name: scenario.tools[0]?.name } }
    : scenario.choice
const chatBody = (scenario: Scenario): LooseObject => {
  const { system, steps, tools, sampling, thinking, form } = scenario
  return withoutUndefined({
    messages: [
      ...system.map(content => ({ role: 'system', content })),
      ...steps.flatMap(step => chatSteps(step, scenario)),
    ],
    tools: tools.length > 0 ? tools.map(chatTool) : undefined,
    web_search_options: scenario.hosted ? {} : undefined,
    tool_choice: chatChoice(scenario),
    parallel_tool_calls: scenario.isSerial ? false : undefined,
    response_format:
      form === 'schema'
        ? { type: 'json_schema', json_schema: { name: 'answer', schema: FORM, strict: true } }
        : form && { type: 'json_object' },
    reasoning_effort: thinking === 'off' ? 'none' : thinking,
    max_completion_tokens: scenario.limit,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop: sampling.stop,
    seed: sampling.seed,
    presence_penalty: sampling.penalty,
    user: scenario.user,
    metadata: scenario.metadata,
    store: scenario.metadata && true,
  })
}

// ---------------------------------------------------------------- responses

const responsesMedia = (media: Media): LooseObject =>
  isFile(media)
    ? isUrl(media)
      ? { type: 'input_file', file_url: TYPES[media] }
      : { type: 'input_file', filename: 'a.pdf', file_data: dataUrl('pdf') }
    : {
        type: 'input_image',
        detail: 'auto',
        image_url: isUrl(media) ? TYPES[media] : dataUrl(media),
      }
const reasoningItem = (thought: CallStep['thought'], at: number): readonly LooseObject[] =>
  thought === undefined
    ? []
    : [
        withoutUndefined({
          type: 'reasoning',
          id: `rs_${at}`,
          summary: [{ type: 'summary_text', text: 'I think.' }],
          encrypted_content: thought === 'signed' ? SIGNATURE : undefined,
        }),
      ]
const responsesSteps = (step: Step, { isShort }: Scenario, at: number): readonly LooseObject[] => {
  if (step.type === 'system') return [{ role: 'developer', content: step.text }]
  if (step.type === 'user') {
    const text = { type: 'input_text', text: step.text }
    const isPlain = isShort && step.media.length === 0
    return [
      { role: 'user', content: isPlain ? step.text : [text, ...step.media.map(responsesMedia)] },
    ]
  }
  const message = (text: string): LooseObject => ({
    type: 'message',
    id: `msg_${at}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  })
  if (step.type === 'assistant') return [...reasoningItem(step.thought, at), message(step.text)]
  const output = hasImage(step)
    ? [{ type: 'input_image', detail: 'auto', image_url: dataUrl('png') }]
    : step.result === 'parts'
      ? [{ type: 'input_text', text: 'sunny' }]
      : resultText(step)
  return [
    ...reasoningItem(step.thought, at),
    ...(step.text ? [message(step.text)] : []),
    ...step.calls.map(({ id, name, input }, nth) => ({
      type: 'function_call',
      id: `fc_${at}${nth}`,
      call_id: id,
      name,
      arguments: JSON.stringify(input),
      status: 'completed',
    })),
    ...step.calls.map(({ id }) => ({ type: 'function_call_output', call_id: id, output })),
  ]
}
const responsesBody = (scenario: Scenario): LooseObject => {
  const { system, steps, tools, sampling, thinking, form } = scenario
  const functions = tools.map(({ name, schema, strict = false }) => ({
    type: 'function',
    name,
    description: 'A tool.',
    parameters: schema ?? null,
    strict,
  }))
  const all = [...functions, ...(scenario.hosted ? [{ type: 'web_search' }] : [])]
  return withoutUndefined({
    instructions: system.length > 0 ? system.join('\n') : undefined,
    input: steps.flatMap((step, at) => responsesSteps(step, scenario, at)),
    store: false,
    tools: all.length > 0 ? all : undefined,
    tool_choice:
      scenario.choice === 'one'
        ? { type: 'function', name: scenario.tools[0]?.name }
        : scenario.choice,
    parallel_tool_calls: scenario.isSerial ? false : undefined,
    text: form && {
      format:
        form === 'schema'
          ? { type: 'json_schema', name: 'answer', schema: FORM, strict: true }
          : { type: 'json_object' },
    },
    reasoning: thinking && { effort: thinking === 'off' ? 'none' : thinking },
    max_output_tokens: scenario.limit,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    user: scenario.user,
    metadata: scenario.metadata,
  })
}

// ---------------------------------------------------------------- Anthropic messages

const messagesMedia = (media: Media): LooseObject => {
  const type = isFile(media) ? 'document' : 'image'
  if (isUrl(media)) return { type, source: { type: 'url', url: TYPES[media] } }
  if (media === 'text-file')
    return { type, source: { type: 'text', media_type: 'text/plain', data: 'some text' } }
  return { type, source: { type: 'base64', media_type: TYPES[media], data: bytesOf(media) } }
}
const thinkingBlock = (thought: CallStep['thought']): readonly LooseObject[] =>
  thought === undefined
    ? []
    : [{ type: 'thinking', thinking: 'I think.', signature: thought === 'signed' ? SIGNATURE : '' }]
const resultContent = (step: CallStep): unknown => {
  if (hasImage(step)) return [{ type: 'text', text: 'see' }, messagesMedia('png')]
  return step.result === 'parts' ? [{ type: 'text', text: 'sunny' }] : resultText(step)
}
const messagesSteps = (step: Step, { isShort, isCached }: Scenario): readonly LooseObject[] => {
  if (step.type === 'system') return []
  const cached = isCached ? { cache_control: CACHE } : {}
  if (step.type === 'user') {
    const text = { type: 'text', text: step.text, ...cached }
    const isPlain = isShort && step.media.length === 0
    return [
      { role: 'user', content: isPlain ? step.text : [...step.media.map(messagesMedia), text] },
    ]
  }
  const thoughts = thinkingBlock(step.thought)
  if (step.type === 'assistant')
    return [{ role: 'assistant', content: [...thoughts, { type: 'text', text: step.text }] }]
  const calls = step.calls.map(each => ({ type: 'tool_use', ...each }))
  const texts = step.text ? [{ type: 'text', text: step.text }] : []
  return [
    { role: 'assistant', content: [...thoughts, ...texts, ...calls] },
    {
      role: 'user',
      content: step.calls.map(({ id }) =>
        withoutUndefined({
          type: 'tool_result',
          tool_use_id: id,
          content: resultContent(step),
          is_error: /failed/.test(step.result) ? true : undefined,
        }),
      ),
    },
  ]
}
const messagesThinking = ({ thinking, limit }: Scenario): unknown => {
  if (thinking === 'off') return { type: 'disabled' }
  const budget = thinking === 'high' ? 8_000 : 1_024
  return thinking && limit > budget ? { type: 'enabled', budget_tokens: budget } : undefined
}
const messagesBody = (scenario: Scenario): LooseObject => {
  const { system, steps, tools, sampling, form, choice } = scenario
  const cached = scenario.isCached ? { cache_control: CACHE } : {}
  const own = tools.map(({ name, schema, strict }) =>
    withoutUndefined({
      name,
      description: 'A tool.',
      input_schema: schema ?? { type: 'object' },
      strict,
    }),
  )
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
  const all = [...own, ...(scenario.hosted ? [search] : [])]
  const types = { auto: 'auto', none: 'none', required: 'any', one: 'tool' } as const
  return withoutUndefined({
    max_tokens: scenario.limit,
    system:
      system.length === 0 || scenario.isShort
        ? system[0]
        : system.map(text => ({ type: 'text', text, ...cached })),
    messages: steps.flatMap(step => messagesSteps(step, scenario)),
    tools: all.length > 0 ? all : undefined,
    tool_choice:
      choice &&
      withoutUndefined({
        type: types[choice],
        name: choice === 'one' ? tools[0]?.name : undefined,
        disable_parallel_tool_use: scenario.isSerial && choice !== 'none' ? true : undefined,
      }),
    output_config:
      form === 'schema' ? { format: { type: 'json_schema', schema: FORM } } : undefined,
    thinking: messagesThinking(scenario),
    temperature: sampling.temperature,
    top_k: sampling.topK,
    stop_sequences: sampling.stop,
    metadata: scenario.user && { user_id: scenario.user },
  })
}

// ---------------------------------------------------------------- generateContent

const geminiMedia = (media: Media): LooseObject => {
  const mimeType = isFile(media)
    ? media === 'text-file'
      ? 'text/plain'
      : 'application/pdf'
    : 'image/png'
  if (isUrl(media)) return { fileData: { fileUri: TYPES[media], mimeType } }
  return { inlineData: { mimeType: isFile(media) ? mimeType : TYPES[media], data: bytesOf(media) } }
}
const geminiResponse = (step: CallStep): LooseObject => {
  const image = { parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] }
  if (/failed/.test(step.result)) return { response: { error: 'no such city' } }
  if (step.result === 'empty') return { response: {} }
  return { response: { output: resultText(step) }, ...(hasImage(step) && image) }
}
const geminiSteps = (step: Step, at: number): readonly LooseObject[] => {
  if (step.type === 'system') return []
  if (step.type === 'user')
    return [{ role: 'user', parts: [{ text: step.text }, ...step.media.map(geminiMedia)] }]
  const thoughts = step.thought ? [{ text: 'I think.', thought: true }] : []
  const signed = step.thought === 'signed' ? { thoughtSignature: SIGNATURE } : {}
  if (step.type === 'assistant')
    return [{ role: 'model', parts: [...thoughts, { text: step.text, ...signed }] }]
  const withId = at % 2 === 0
  const calls = step.calls.map(({ id, name, input }, nth) => ({
    functionCall: { ...(withId && { id }), name, args: input },
    ...(nth === 0 && signed),
  }))
  const responses = step.calls.map(({ id, name }) => ({
    functionResponse: { ...(withId && { id }), name, ...geminiResponse(step) },
  }))
  const texts = step.text ? [{ text: step.text }] : []
  return [
    { role: 'model', parts: [...thoughts, ...texts, ...calls] },
    { role: 'user', parts: responses },
  ]
}
const geminiBody = (scenario: Scenario): LooseObject => {
  const { system, steps, tools, sampling, thinking, form, choice } = scenario
  const functionDeclarations = tools.map(({ name, schema }) =>
    withoutUndefined({ name, description: 'A tool.', parametersJsonSchema: schema }),
  )
  const all = [
    ...(tools.length > 0 ? [{ functionDeclarations }] : []),
    ...(scenario.hosted ? [{ googleSearch: {} }] : []),
  ]
  const modes = { auto: 'AUTO', none: 'NONE', required: 'ANY', one: 'ANY' } as const
  const functionCallingConfig = choice && {
    mode: modes[choice],
    ...(choice === 'one' && { allowedFunctionNames: [tools[0]?.name] }),
  }
  const budgets = { off: 0, low: 1_024, high: 8_192 } as const
  return withoutUndefined({
    systemInstruction: system.length > 0 ? { parts: system.map(text => ({ text })) } : undefined,
    contents: steps.flatMap(geminiSteps),
    tools: all.length > 0 ? all : undefined,
    toolConfig: functionCallingConfig && { functionCallingConfig },
    generationConfig: withoutUndefined({
      maxOutputTokens: scenario.limit,
      temperature: sampling.temperature,
      topP: sampling.topP,
      topK: sampling.topK,
      stopSequences: sampling.stop,
      seed: sampling.seed,
      presencePenalty: sampling.penalty,
      responseMimeType: form && 'application/json',
      responseJsonSchema: form === 'schema' ? FORM : undefined,
      thinkingConfig: thinking && {
        thinkingBudget: budgets[thinking],
        includeThoughts: thinking !== 'off',
      },
    }),
  })
}

const BODIES: Readonly<Record<Client, (scenario: Scenario) => LooseObject>> = {
  'openai-chat': chatBody,
  'openai-responses': responsesBody,
  'anthropic-messages': messagesBody,
  'google-gemini': geminiBody,
  'google-interactions': interactionsBody,
}
export const render = (client: Client, scenario: Scenario, name: string): ClientRequest => ({
  client,
  name,
  isStreamed: scenario.isStreamed,
  body: {
    ...withOddShape(client, scenario, BODIES[client](scenario)),
    ...(scenario.isStreamed && client !== 'google-gemini' && { stream: true }),
  },
})
