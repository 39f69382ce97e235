/** Rules of chat providers that lack a role, a choice of tools or schemas. */
import type { Body, RequestCase } from './request-case.ts'

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
const messages = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'q' },
]
const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema: parameters } }
const CHOICES: readonly Body[] = [
  'required',
  { type: 'function', function: { name: 'weather' } },
  {
    type: 'allowed_tools',
    allowed_tools: {
      mode: 'required',
      tools: [{ type: 'function', function: { name: 'weather' } }],
    },
  },
]
const roles = ({ messages: list }: Body): readonly string[] => list.map(({ role }: Body) => role)
const OTHERS: readonly Pick<RequestCase, 'client' | 'request'>[] = [
  {
    client: 'openai-responses',
    request: {
      input: 'q',
      store: false,
      tools: [{ type: 'function', name: 'weather', parameters, strict: false }],
      tool_choice: 'required',
      text: { format: { type: 'json_schema', name: 'a', schema: parameters } },
    },
  },
  {
    client: 'anthropic-messages',
    request: {
      max_tokens: 50,
      messages: [{ role: 'user', content: 'q' }],
      tools: [{ name: 'weather', input_schema: parameters }],
      tool_choice: { type: 'any' },
      output_config: { format: { type: 'json_schema', schema: parameters } },
    },
  },
  {
    client: 'google-gemini',
    request: {
      contents: [{ role: 'user', parts: [{ text: 'q' }] }],
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: parameters }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { responseMimeType: 'application/json', responseJsonSchema: parameters },
    },
  },
]
const asksInPrompt = (up: Body, text: string): boolean =>
  up.response_format.type === 'json_object' && /fits this schema/.test(text)

export const cases: readonly RequestCase[] = [
  ...([undefined, true] as const).flatMap((stream): RequestCase[] => [
    {
      name: `the role developer is system at a provider without it, ${stream ? 'streamed' : 'plain'}`,
      client: 'openai-chat',
      model: 'ds',
      ...(stream && { stream }),
      request: { messages, unknown_member: 1 },
      check: ({ up, dropped }) =>
        `${roles(up)}` === 'system,user' && up.unknown_member === 1 && dropped === '',
    },
    {
      name: `a schema is JSON and a prompt at a provider without schemas, ${stream ? 'streamed' : 'plain'}`,
      client: 'openai-chat',
      model: 'ds',
      ...(stream && { stream }),
      request: { messages, response_format },
      check: ({ up, upText }) => asksInPrompt(up, upText) && !roles(up).includes('developer'),
    },
    ...CHOICES.map(
      (choice): RequestCase => ({
        name: `a forced call is auto and reported where it is refused: ${JSON.stringify(choice)}, ${stream ? 'streamed' : 'plain'}`,
        client: 'openai-chat',
        model: 'glm',
        ...(stream && { stream }),
        request: { messages, tools, tool_choice: choice },
        check: ({ up, dropped }) => up.tool_choice === 'auto' && /tool_choice/.test(dropped),
      }),
    ),
    ...OTHERS.map(
      (each): RequestCase => ({
        ...each,
        name: `${each.client}: a forced call and a schema at a provider without both, ${stream ? 'streamed' : 'plain'}`,
        model: 'glm',
        ...(stream && { stream }),
        check: ({ up, upText, dropped }) =>
          up.tool_choice === 'auto' &&
          /tool_choice|toolConfig/.test(dropped) &&
          asksInPrompt(up, upText),
      }),
    ),
  ]),
  {
    name: 'a choice of none leaves the tools out where it is refused',
    client: 'openai-chat',
    model: 'glm',
    request: { messages, tools, tool_choice: 'none' },
    check: ({ up }) => up.tools === undefined && up.tool_choice === undefined,
  },
  {
    name: 'traits of a model win over the rules of its provider',
    client: 'openai-chat',
    model: 'glm-forced',
    request: { messages, tools, tool_choice: 'required', response_format },
    check: ({ up, dropped }) =>
      up.tool_choice === 'required' &&
      up.response_format.type === 'json_schema' &&
      roles(up)[0] === 'developer' &&
      dropped === '',
  },
  {
    name: 'a router that takes cache_control gets it from clients of Messages',
    client: 'anthropic-messages',
    model: 'or-claude',
    request: {
      max_tokens: 50,
      system: [{ type: 'text', text: 'long', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'q' }],
    },
    check: ({ upText, dropped }) => /"cache_control"/.test(upText) && dropped === '',
  },
]
