/** Custom tools, grammars, and the order of calls and results. */
import type { Body, RequestCase } from './request-case.ts'

export const cases: readonly RequestCase[] = [
  {
    name: 'two calls that share an index and not an id are two calls',
    isWrong: true,
    client: 'anthropic-messages',
    model: 'plain-chat',
    stream: true,
    request: {
      max_tokens: 50,
      tools: [
        { name: 'read', input_schema: { type: 'object', properties: {} } },
        { name: 'write', input_schema: { type: 'object', properties: {} } },
      ],
      messages: [{ role: 'user', content: 'q' }],
    },
    answer: [
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                {
                  index: 0,
                  id: 'c1',
                  type: 'function',
                  function: { name: 'read', arguments: '{"p":1}' },
                },
              ],
            },
            finish_reason: null,
          },
        ],
      },
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                {
                  index: 0,
                  id: 'c2',
                  type: 'function',
                  function: { name: 'write', arguments: '{"q":2}' },
                },
              ],
            },
            finish_reason: null,
          },
        ],
      },
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }],
      },
      {
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      },
    ],
    check: ({ events }) =>
      events.filter((e: Body) => e?.content_block?.type === 'tool_use').length === 2,
  },
  {
    name: 'a grammar of responses in the form of chat',
    isWrong: true,
    client: 'openai-responses',
    model: 'gpt-5.4',
    request: {
      input: 'q',
      tools: [
        {
          type: 'custom',
          name: 'apply_patch',
          description: 'Edit',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/s' },
        },
      ],
    },
    check: ({ up }) => up.tools[0].custom.format.grammar?.syntax === 'lark',
  },
  {
    name: 'a call to a custom tool that the target knows as a function',
    isWrong: true,
    client: 'openai-responses',
    model: 'plain-chat',
    request: { input: 'q', tools: [{ type: 'custom', name: 'apply_patch' }] },
    answer: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                id: 'c1',
                type: 'function',
                function: {
                  name: 'apply_patch',
                  arguments: '{"input":"*** Begin Patch\\n*** End Patch"}',
                },
              },
            ],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
    check: ({ out }) => out.output[0].type === 'custom_tool_call',
  },
  {
    name: 'a grammar of chat in the form of responses',
    isWrong: true,
    client: 'openai-chat',
    model: 'resp',
    request: {
      messages: [{ role: 'user', content: 'x' }],
      tools: [
        {
          type: 'custom',
          custom: {
            name: 'sql',
            format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } },
          },
        },
      ],
    },
    check: ({ up }) =>
      up.tools[0].format.syntax === 'lark' && up.tools[0].format.definition === 'start: "a"',
  },
  {
    name: 'a grammar of responses in the form of chat, for a reasoning model',
    isWrong: true,
    client: 'openai-responses',
    model: 'chat-r',
    request: {
      input: 'x',
      store: false,
      tools: [
        {
          type: 'custom',
          name: 'sql',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
        },
      ],
    },
    check: ({ up }) => up.tools[0].custom.format.grammar?.definition === 'start: "a"',
  },
  {
    name: 'a JSON schema beside functions at Gemini 2.5',
    isWrong: true,
    client: 'openai-chat',
    model: 'gx25',
    request: {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [
        {
          type: 'function',
          function: { name: 'w', parameters: { type: 'object', properties: {} } },
        },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'r',
          schema: { type: 'object', properties: { a: { type: 'string' } } },
        },
      },
    },
    check: ({ up }) => !(up.tools && up.generationConfig?.responseMimeType === 'application/json'),
  },
  {
    name: 'tools of an additional_tools item',
    isWrong: true,
    client: 'openai-responses',
    model: 'cl5',
    request: {
      store: false,
      input: [
        { role: 'user', content: 'hi' },
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [
            {
              type: 'function',
              name: 'w',
              parameters: { type: 'object', properties: {} },
              strict: false,
            },
          ],
        },
        { role: 'user', content: 'x' },
      ],
    },
    check: ({ up }) => up.tools?.[0]?.name === 'w',
  },
  {
    name: 'a calling mode in lower case',
    isWrong: true,
    client: 'google-gemini',
    model: 'gx25',
    request: {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'w' }] }],
      toolConfig: { functionCallingConfig: { mode: 'any' } },
    },
    check: ({ status }) => status === 200,
  },
  {
    name: 'two assistant turns with a call each, then both results',
    isWrong: true,
    client: 'anthropic-messages',
    model: 'chat',
    request: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a1', name: 'w', input: {} }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'b2', name: 'v', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a1', content: '1' },
            { type: 'tool_result', tool_use_id: 'b2', content: '2' },
          ],
        },
      ],
      tools: [
        { name: 'w', input_schema: { type: 'object' } },
        { name: 'v', input_schema: { type: 'object' } },
      ],
    },
    check: ({ up }) =>
      up.messages.every(
        (each: Body, at: number) => !each.tool_calls || up.messages[at + 1].role === 'tool',
      ),
  },
]
