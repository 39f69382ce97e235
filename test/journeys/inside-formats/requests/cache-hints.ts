/** Prompt-cache hints of each convention reach the target that has them. */
import type { RequestCase } from './request-case.ts'

export const cases: readonly RequestCase[] = [
  {
    name: 'cache_control in a system part and a user part of chat',
    isWrong: true,
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        {
          role: 'system',
          content: [
            {
              type: 'text',
              text: 'long system prompt',
              cache_control: { type: 'ephemeral', ttl: '1h' },
            },
          ],
        },
        {
          role: 'user',
          content: [{ type: 'text', text: 'q', cache_control: { type: 'ephemeral' } }],
        },
      ],
    },
    check: ({ up }) =>
      up.system?.[0]?.cache_control?.ttl === '1h' &&
      !!up.messages?.[0]?.content?.[0]?.cache_control,
  },
  {
    name: 'cache_control at a tool and in a tool message of chat',
    isWrong: true,
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        { role: 'user', content: 'q' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }],
        },
        {
          role: 'tool',
          tool_call_id: 'c1',
          content: [{ type: 'text', text: 'r', cache_control: { type: 'ephemeral' } }],
        },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'read', parameters: { type: 'object', properties: {} } },
          cache_control: { type: 'ephemeral' },
        },
      ],
    },
    check: ({ up }) => JSON.stringify(up).split('cache_control').length >= 3,
  },
  {
    name: 'the cache options that chat and responses share',
    isWrong: true,
    client: 'openai-chat',
    model: 'gpt-5.6-r',
    request: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'q', prompt_cache_breakpoint: { mode: 'explicit' } }],
        },
      ],
      prompt_cache_options: { mode: 'explicit', ttl: '1h' },
      prompt_cache_retention: '24h',
    },
    check: ({ up }) =>
      !!up.prompt_cache_options && /prompt_cache_breakpoint/.test(JSON.stringify(up.input)),
  },
  {
    name: 'cache_control in strict mode',
    isWrong: true,
    client: 'openai-chat',
    model: 'cl45',
    headers: { 'x-tollgate-strict': 'true' },
    request: {
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'big', cache_control: { type: 'ephemeral' } }],
        },
        {
          role: 'user',
          content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }],
        },
      ],
    },
    check: ({ up }) => !!up.system[0].cache_control && !!up.messages[0].content[0].cache_control,
  },
  {
    name: 'cache breakpoints from chat to responses',
    isWrong: true,
    client: 'openai-chat',
    model: 'resp',
    request: {
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'explicit' },
      service_tier: 'fast',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'long', prompt_cache_breakpoint: { mode: 'explicit' } },
            { type: 'text', text: 'q' },
          ],
        },
      ],
    },
    check: ({ up, upText }) =>
      /prompt_cache_breakpoint/.test(upText) &&
      up.prompt_cache_retention === '24h' &&
      up.prompt_cache_options.mode === 'explicit',
  },
]
