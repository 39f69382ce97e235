/** Prompt-cache hints of each convention reach the target that has them. */
import {
  assistant,
  CACHED,
  CACHED_FOR_AN_HOUR,
  chatCall,
  EMPTY_SCHEMA,
  geminiUser,
  messagesTool,
  STRICT,
  user,
} from '../../../helpers/formats/request-parts.ts'
import type { Body, RequestCase } from './request-case.ts'

const SHARED = {
  prompt_cache_key: 'k',
  prompt_cache_options: { mode: 'explicit', ttl: '30m' },
  prompt_cache_retention: '24h',
  moderation: { model: 'omni-moderation-latest' },
  service_tier: 'fast',
  safety_identifier: 'u',
  parallel_tool_calls: false,
}
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other)
const call = chatCall('c1', 'f')
const AGENT = {
  messages: [
    { role: 'system', content: 's' },
    { role: 'user', content: 'q' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'r' },
  ],
  tools: [
    { type: 'function', function: { name: 'f' } },
    { type: 'function', function: { name: 'g' } },
  ],
}

export const cases: readonly RequestCase[] = [
  {
    name: 'cache_control in a system part and a user part of chat',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        {
          role: 'system',
          content: [
            { type: 'text', text: 'long system prompt', cache_control: CACHED_FOR_AN_HOUR },
          ],
        },
        user({ type: 'text', text: 'q', cache_control: CACHED }),
      ],
    },
    check: ({ up }) =>
      up.system?.[0]?.cache_control?.ttl === '1h' &&
      !!up.messages?.[0]?.content?.[0]?.cache_control,
  },
  {
    name: 'cache_control at a tool and in a tool message of chat',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: null, tool_calls: [chatCall('c1', 'read')] },
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: [{ type: 'text', text: 'r', cache_control: CACHED }],
        },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'read', parameters: EMPTY_SCHEMA },
          cache_control: CACHED,
        },
      ],
    },
    check: ({ up }) => JSON.stringify(up).split('cache_control').length >= 3,
  },
  {
    name: 'the cache options that chat and responses share',
    client: 'openai-chat',
    model: 'gpt-5.6-r',
    request: {
      messages: [user({ type: 'text', text: 'q', prompt_cache_breakpoint: { mode: 'explicit' } })],
      prompt_cache_options: { mode: 'explicit', ttl: '1h' },
      prompt_cache_retention: '24h',
    },
    check: ({ up }) =>
      !!up.prompt_cache_options && /prompt_cache_breakpoint/.test(JSON.stringify(up.input)),
  },
  {
    name: 'cache_control in strict mode',
    client: 'openai-chat',
    model: 'cl45',
    headers: STRICT,
    request: {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'big', cache_control: CACHED }] },
        user({ type: 'text', text: 'x', cache_control: CACHED }),
      ],
    },
    check: ({ up }) => !!up.system[0].cache_control && !!up.messages[0].content[0].cache_control,
  },
  {
    name: 'cache breakpoints from chat to responses',
    client: 'openai-chat',
    model: 'resp',
    request: {
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'explicit' },
      service_tier: 'fast',
      messages: [
        user(
          { type: 'text', text: 'long', prompt_cache_breakpoint: { mode: 'explicit' } },
          { type: 'text', text: 'q' },
        ),
      ],
    },
    check: ({ up, upText }) =>
      /prompt_cache_breakpoint/.test(upText) &&
      up.prompt_cache_retention === '24h' &&
      up.prompt_cache_options.mode === 'explicit',
  },
  {
    name: 'cache_control beside the content of a message concerns its last part',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        { role: 'system', content: 'long', cache_control: CACHED },
        { role: 'user', content: 'q', cache_control: CACHED },
        { role: 'assistant', content: 'a', cache_control: CACHED },
        { role: 'user', content: 'r' },
      ],
    },
    check: ({ up }) =>
      up.system[0].cache_control &&
      up.messages[0].content[0].cache_control &&
      up.messages[1].content[0].cache_control,
  },
  {
    name: 'cache_control in parts and tools of responses',
    client: 'openai-responses',
    model: 'claude-sonnet-4-5',
    headers: STRICT,
    request: {
      store: false,
      tools: [
        {
          type: 'function',
          name: 'f',
          parameters: EMPTY_SCHEMA,
          strict: false,
          cache_control: CACHED_FOR_AN_HOUR,
        },
        { type: 'custom', name: 'g', cache_control: CACHED },
      ],
      input: [
        user(
          { type: 'input_text', text: 'q', cache_control: CACHED },
          {
            type: 'input_image',
            image_url: 'data:image/png;base64,iVBORw0KGgo=',
            prompt_cache_breakpoint: { mode: 'explicit' },
          },
        ),
      ],
    },
    check: ({ up, status }) =>
      status === 200 &&
      up.tools[0].cache_control.ttl === '1h' &&
      up.tools[1].cache_control &&
      up.messages[0].content.every((each: Body) => each.cache_control),
  },
  {
    name: 'four breakpoints at most, the last ones of the conversation',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        {
          role: 'system',
          content: ['a', 'b', 'c'].map(text => ({ type: 'text', text, cache_control: {} })),
        },
        ...['q', 'r', 's'].map(text => user({ type: 'text', text, cache_control: {} })),
      ],
    },
    check: ({ up, dropped }) =>
      JSON.stringify(up).split('"cache_control"').length === 5 &&
      up.system[2].cache_control &&
      !up.system[0].cache_control &&
      up.messages.at(-1).content.at(-1).cache_control &&
      dropped === 'cache_control',
  },
  {
    name: 'a long time behind a short one becomes short',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        { role: 'system', content: 'long', cache_control: CACHED },
        { role: 'user', content: 'q', cache_control: CACHED_FOR_AN_HOUR },
      ],
    },
    check: ({ up }) => up.messages[0].content[0].cache_control.ttl === '5m',
  },
  {
    name: 'what a target has no field for is named as the client named it',
    client: 'openai-chat',
    model: 'gemini-2.5-flash',
    request: {
      messages: [user({ type: 'text', text: 'q', prompt_cache_breakpoint: { mode: 'explicit' } })],
      prompt_cache_retention: '24h',
    },
    check: ({ dropped }) =>
      /prompt_cache_breakpoint/.test(dropped) &&
      /prompt_cache_retention/.test(dropped) &&
      !/cache_control/.test(dropped),
  },
  {
    name: 'a chat target without cache_control gets none',
    client: 'anthropic-messages',
    model: 'gpt-5.4',
    request: {
      max_tokens: 9,
      messages: [user({ type: 'text', text: 'q', cache_control: CACHED })],
    },
    check: ({ up, dropped }) => up.messages[0].content === 'q' && dropped === 'cache_control',
  },
  {
    name: 'a chat target that takes cache_control gets it in parts, results and tools',
    client: 'anthropic-messages',
    model: 'router',
    request: {
      max_tokens: 9,
      tools: [{ name: 'f', input_schema: { type: 'object' }, cache_control: CACHED }],
      messages: [
        user({ type: 'text', text: 'q', cache_control: CACHED_FOR_AN_HOUR }),
        assistant({ type: 'tool_use', id: 'c1', name: 'f', input: {} }),
        user({ type: 'tool_result', tool_use_id: 'c1', content: 'r', cache_control: CACHED }),
      ],
    },
    check: ({ up, dropped }) =>
      dropped === '' &&
      up.tools[0].cache_control &&
      up.messages[0].content[0].cache_control.ttl === '1h' &&
      up.messages[2].content[0].cache_control,
  },
  {
    name: 'a hint of another type is refused by name',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: { messages: [{ role: 'user', content: 'q', cache_control: 'yes' }] },
    check: ({ status, out }) => status === 400 && /cache_control/.test(out.error.param),
  },
  {
    name: 'breakpoints reach Bedrock as cache points, also from a tool message',
    client: 'openai-chat',
    model: 'b-claude',
    headers: STRICT,
    request: {
      messages: [
        { role: 'system', content: [{ type: 'text', text: 's', cache_control: CACHED }] },
        { role: 'user', content: 'q' },
        { role: 'assistant', tool_calls: [chatCall('c1', 'f')] },
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: [{ type: 'text', text: 'r', cache_control: CACHED }],
        },
      ],
      tools: [{ type: 'function', function: { name: 'f' }, cache_control: CACHED }],
    },
    check: ({ up }) =>
      up.system[1].cachePoint &&
      up.toolConfig.tools[1].cachePoint &&
      up.messages[2].content[1].cachePoint,
  },
  {
    name: 'a target without breakpoints is refused in strict mode',
    client: 'openai-chat',
    model: 'gx3',
    headers: STRICT,
    request: { messages: [{ role: 'user', content: 'q', cache_control: CACHED }] },
    check: ({ status, out }) => status === 400 && out.error.param === 'cache_control',
  },
  {
    name: 'a hint that is not an object is refused at its place',
    client: 'openai-chat',
    model: 'cl45',
    request: { messages: [{ role: 'user', content: 'q', cache_control: 'yes' }] },
    check: ({ status, out }) => status === 400 && out.error.param === 'messages[0].cache_control',
  },
  {
    name: 'settings that responses and chat share, from responses',
    client: 'openai-responses',
    model: 'chat',
    headers: STRICT,
    request: { input: 'q', ...SHARED },
    check: ({ up }) => Object.entries(SHARED).every(([key, value]) => isSame(up[key], value)),
  },
  {
    name: 'settings that responses and chat share, from chat, streamed',
    client: 'openai-chat',
    model: 'gpt-5.6-r',
    stream: true,
    headers: STRICT,
    request: { messages: [{ role: 'user', content: 'q' }], ...SHARED },
    check: ({ up }) => Object.entries(SHARED).every(([key, value]) => isSame(up[key], value)),
  },
  {
    name: 'automatic breakpoints: tools, system prompt and the last turns',
    client: 'openai-chat',
    model: 'auto-cl',
    request: AGENT,
    check: ({ up, upText, dropped }) =>
      upText.split('"cache_control":{"type":"ephemeral","ttl":"1h"}').length === 5 &&
      up.tools.at(-1).cache_control &&
      up.system.at(-1).cache_control &&
      up.messages.at(-1).content.at(-1).cache_control &&
      up.messages.at(-3).content.at(-1).cache_control &&
      dropped === '',
  },
  {
    name: 'automatic breakpoints: at Bedrock',
    client: 'google-gemini',
    model: 'auto-b',
    headers: STRICT,
    request: {
      systemInstruction: { parts: [{ text: 's' }] },
      contents: [geminiUser({ text: 'q' })],
    },
    check: ({ up }) => up.system[1].cachePoint && up.messages[0].content[1].cachePoint,
  },
  {
    name: 'automatic breakpoints: none at a target without, and none reported',
    client: 'anthropic-messages',
    model: 'auto-chat',
    headers: STRICT,
    request: { max_tokens: 9, messages: [{ role: 'user', content: 'q' }] },
    check: ({ upText, status, dropped }) =>
      status === 200 && !/cache/.test(upText) && dropped === '',
  },
  {
    name: 'automatic breakpoints: in a request that passes through',
    client: 'anthropic-messages',
    model: 'auto-cl',
    request: {
      max_tokens: 9,
      system: 's',
      tools: [messagesTool('f', { type: 'object' })],
      messages: [{ role: 'user', content: 'q' }],
      future: 1,
    },
    check: ({ up }) =>
      [up.tools[0], up.system[0], up.messages[0].content[0]].every(
        each => each.cache_control.ttl === '1h',
      ) && up.future === 1,
  },
  {
    name: 'automatic breakpoints: none beside those of the client',
    client: 'anthropic-messages',
    model: 'auto-cl',
    request: {
      max_tokens: 9,
      system: 's',
      messages: [user({ type: 'text', text: 'q', cache_control: CACHED })],
    },
    check: ({ up, upText }) => up.system === 's' && upText.split('cache_control').length === 2,
  },
]
