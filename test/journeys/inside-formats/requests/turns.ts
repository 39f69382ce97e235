/** System turns and other items that a target takes only at some places. */
import { geminiUser, responsesTool } from '../../../helpers/formats/request-parts.ts'
import type { Body, RequestCase } from './request-case.ts'

export const cases: readonly RequestCase[] = [
  {
    name: 'a system turn behind an assistant turn',
    client: 'openai-chat',
    model: 'cl5',
    request: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'yo' },
        { role: 'system', content: 'be formal' },
        { role: 'user', content: 'bye' },
      ],
    },
    check: ({ up }) =>
      !up.messages.some(
        (each: Body, at: number) =>
          each.role === 'system' &&
          (up.messages[at - 1]?.role !== 'user' ||
            ![undefined, 'assistant'].includes(up.messages[at + 1]?.role)),
      ),
  },
  {
    name: 'a system turn between a call and its result',
    client: 'openai-responses',
    model: 'cl5',
    request: {
      store: false,
      input: [
        { role: 'user', content: 'w?' },
        { type: 'function_call', call_id: 'c1', name: 'w', arguments: '{}' },
        { role: 'developer', content: 'note' },
        { type: 'function_call_output', call_id: 'c1', output: 'sun' },
      ],
      tools: [responsesTool('w')],
    },
    check: ({ up }) =>
      up.messages[
        up.messages.findIndex((each: Body) => each.content[0]?.type === 'tool_result') - 1
      ]?.role === 'assistant',
  },
  {
    name: 'a system turn of settings only',
    client: 'anthropic-messages',
    model: 'cl5',
    headers: { 'anthropic-beta': 'mid-conversation-output-config-2026-07-01' },
    request: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'system', output_config: { effort: 'low' } },
      ],
    },
    check: ({ up }) => up.messages[1].output_config.effort === 'low',
  },
  {
    name: 'JSON asked for in the system prompt only',
    client: 'openai-chat',
    model: 'resp',
    request: {
      messages: [
        { role: 'system', content: 'Always respond with a JSON object.' },
        { role: 'user', content: 'largest city?' },
      ],
      response_format: { type: 'json_object' },
    },
    check: ({ up }) => /json/i.test(JSON.stringify(up.input)),
  },
  {
    name: 'a compaction trigger is compacted or refused',
    client: 'openai-responses',
    model: 'claude-sonnet-4-5',
    stream: true,
    request: {
      store: false,
      input: [{ role: 'user', content: 'long' }, { type: 'compaction_trigger' }],
    },
    check: ({ status, events }) => status === 400 || /"compaction"/.test(JSON.stringify(events)),
  },
  {
    name: 'a JSON object without the word JSON at responses',
    client: 'openai-chat',
    model: 'resp',
    stream: true,
    request: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'largest city?' },
      ],
      response_format: { type: 'json_object' },
    },
    check: ({ up }) => up.instructions === 'Be brief.' && /JSON/.test(JSON.stringify(up.input)),
  },
  ...(['resp', 'chat'] as const).map(
    (model): RequestCase => ({
      name: `a JSON object of Gemini without the word JSON at ${model}`,
      client: 'google-gemini',
      model,
      request: {
        contents: [geminiUser({ text: 'largest city?' })],
        generationConfig: { responseMimeType: 'application/json' },
      },
      check: ({ up }) => /JSON/.test(JSON.stringify(up.input ?? up.messages)),
    }),
  ),
  {
    name: 'a JSON object asked for by the user: nothing is added',
    client: 'openai-responses',
    model: 'chat',
    request: { input: 'largest city, as json', text: { format: { type: 'json_object' } } },
    check: ({ up }) => up.messages.length === 1,
  },
  ...(['resp', 'chat', 'gx25', 'b-claude'] as const).map(
    (model): RequestCase => ({
      name: `a system turn of settings only is named: ${model}`,
      client: 'anthropic-messages',
      model,
      request: {
        max_tokens: 100,
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'system', output_config: { effort: 'low' } },
        ],
      },
      check: ({ status, dropped }) => status === 200 && dropped === 'messages[1].output_config',
    }),
  ),
  {
    name: 'single objects in place of lists',
    client: 'google-gemini',
    model: 'cl45',
    request: {
      contents: { role: 'user', parts: { text: 'hi' } },
      tools: { functionDeclarations: { name: 'w' } },
    },
    check: ({ up }) => up.messages[0].content[0].text === 'hi' && up.tools[0].name === 'w',
  },
]
