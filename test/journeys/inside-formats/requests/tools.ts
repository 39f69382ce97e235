/** Custom tools, grammars, and the order of calls and results. */

import type { Fields } from '../../../../plugins/formats/fields.ts'
import {
  assistant,
  chatCall,
  chatTool,
  geminiUser,
  grammarTool,
  messagesTool,
  responsesTool,
  STRICT,
  user,
} from '../../../helpers/formats/request-parts.ts'
import { chatAnswer, chatStream } from './chat-answers.ts'
import type { Body, RequestCase } from './request-case.ts'

const A = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const B = { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] }
/** Roots of schemas that providers refuse. */
const ROOTS: Readonly<Record<string, Fields>> = {
  'without a type': { properties: A.properties },
  anyOf: { anyOf: [A, B] },
  oneOf: { type: 'object', oneOf: [A, B, { type: 'null' }] },
  allOf: { allOf: [A, B] },
  $ref: { $ref: '#/$defs/A', $defs: { A } },
  'nullable object': { ...A, type: ['object', 'null'] },
  empty: {},
}
const ROOT_TARGETS = ['chat', 'resp', 'cl45', 'gx25', 'gx3', 'b-claude'] as const
/** The schema that the only tool has upstream. */
const schemaIn = (up: Body): Body => {
  const tool = up.tools?.[0] ?? up.toolConfig.tools[0]
  return (
    tool.function?.parameters ??
    tool.parameters ??
    tool.input_schema ??
    tool.functionDeclarations?.[0].parametersJsonSchema ??
    tool.toolSpec?.inputSchema.json
  )
}
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } }

const FIND = responsesTool('find')

export const cases: readonly RequestCase[] = [
  {
    name: 'two calls that share an index and not an id are two calls',
    client: 'anthropic-messages',
    model: 'plain-chat',
    stream: true,
    request: {
      max_tokens: 50,
      tools: [messagesTool('read'), messagesTool('write')],
      messages: [{ role: 'user', content: 'q' }],
    },
    answer: chatStream(
      [
        ['read', '{"p":1}'],
        ['write', '{"q":2}'],
      ].map(([name, input], at) => ({
        tool_calls: [
          { index: 0, id: `c${at + 1}`, type: 'function', function: { name, arguments: input } },
        ],
      })),
      'tool_calls',
    ),
    check: ({ events }) =>
      events.filter((e: Body) => e?.content_block?.type === 'tool_use').length === 2,
  },
  {
    name: 'a grammar of responses in the form of chat',
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
    client: 'openai-responses',
    model: 'plain-chat',
    request: { input: 'q', tools: [{ type: 'custom', name: 'apply_patch' }] },
    answer: chatAnswer(
      {
        content: null,
        tool_calls: [chatCall('c1', 'apply_patch', '{"input":"*** Begin Patch\\n*** End Patch"}')],
      },
      'tool_calls',
    ),
    check: ({ out }) => out.output[0].type === 'custom_tool_call',
  },
  {
    name: 'a grammar of chat in the form of responses',
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
    client: 'openai-responses',
    model: 'chat-r',
    request: { input: 'x', store: false, tools: [grammarTool('sql', 'start: "a"')] },
    check: ({ up }) => up.tools[0].custom.format.grammar?.definition === 'start: "a"',
  },
  {
    name: 'a JSON schema beside functions at Gemini 2.5',
    client: 'openai-chat',
    model: 'gx25',
    request: {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [chatTool('w')],
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
    client: 'openai-responses',
    model: 'cl5',
    request: {
      store: false,
      input: [
        { role: 'user', content: 'hi' },
        { type: 'additional_tools', role: 'developer', tools: [responsesTool('w')] },
        { role: 'user', content: 'x' },
      ],
    },
    check: ({ up }) => up.tools?.[0]?.name === 'w',
  },
  {
    name: 'a calling mode in lower case',
    client: 'google-gemini',
    model: 'gx25',
    request: {
      contents: [geminiUser({ text: 'hi' })],
      tools: [{ functionDeclarations: [{ name: 'w' }] }],
      toolConfig: { functionCallingConfig: { mode: 'any' } },
    },
    check: ({ status }) => status === 200,
  },
  {
    name: 'two assistant turns with a call each, then both results',
    client: 'anthropic-messages',
    model: 'chat',
    request: {
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'q' },
        assistant({ type: 'tool_use', id: 'a1', name: 'w', input: {} }),
        assistant({ type: 'tool_use', id: 'b2', name: 'v', input: {} }),
        user(
          { type: 'tool_result', tool_use_id: 'a1', content: '1' },
          { type: 'tool_result', tool_use_id: 'b2', content: '2' },
        ),
      ],
      tools: [messagesTool('w'), messagesTool('v')],
    },
    check: ({ up }) =>
      up.messages.every(
        (each: Body, at: number) => !each.tool_calls || up.messages[at + 1].role === 'tool',
      ),
  },
  ...Object.entries(ROOTS).flatMap(([title, root]) =>
    ROOT_TARGETS.map(
      (model): RequestCase => ({
        name: `a tool schema whose root is ${title} is a plain object at ${model}`,
        client: model === 'cl45' || model === 'gx3' ? 'openai-chat' : 'anthropic-messages',
        model,
        request: {
          max_tokens: 9,
          messages: [{ role: 'user', content: 'q' }],
          tools:
            model === 'cl45' || model === 'gx3' ? [chatTool('f', root)] : [messagesTool('f', root)],
        },
        check: ({ up }) => {
          const schema = schemaIn(up)
          return (
            schema.type === 'object' &&
            !['anyOf', 'oneOf', 'allOf', '$ref'].some(word => word in schema) &&
            (title === 'empty' || 'a' in schema.properties) &&
            (!/Of/.test(title) || 'b' in schema.properties) &&
            (title !== 'anyOf' || (!schema.required && /"a".*"b"/.test(schema.description))) &&
            (title !== 'allOf' || schema.required.join() === 'a,b')
          )
        },
      }),
    ),
  ),
  {
    name: 'a root schema passes unchanged in the same format',
    client: 'openai-chat',
    model: 'chat',
    request: { messages: [{ role: 'user', content: 'q' }], tools: [chatTool('f', ROOTS.anyOf)] },
    check: ({ up }) => 'anyOf' in up.tools[0].function.parameters,
  },
  ...(['chat', 'resp'] as const).map(
    (model): RequestCase => ({
      name: `an answer that is a list is asked for in words at ${model}`,
      client: 'google-gemini',
      model,
      stream: true,
      request: {
        contents: [geminiUser({ text: 'q' })],
        generationConfig: {
          responseMimeType: 'application/json',
          responseSchema: { type: 'ARRAY', items: { type: 'STRING' } },
        },
      },
      check: ({ up, upText, dropped }) =>
        !up.response_format &&
        !up.text &&
        /Answer with JSON/.test(upText) &&
        /responseMimeType/.test(dropped),
    }),
  ),
  {
    name: 'a schema beside functions at Gemini 2.5 is in the instructions and is named',
    client: 'openai-responses',
    model: 'gx25',
    stream: true,
    request: {
      input: 'q',
      tools: [responsesTool('f', SCHEMA)],
      text: { format: { type: 'json_schema', name: 'x', schema: SCHEMA } },
    },
    check: ({ up, dropped }) =>
      up.tools &&
      !up.generationConfig?.responseJsonSchema &&
      /Answer with JSON/.test(up.systemInstruction.parts[0].text) &&
      dropped === 'text.format',
  },
  {
    name: 'a schema beside functions at Gemini 2.5 is refused in strict mode',
    client: 'openai-chat',
    model: 'gx25',
    headers: STRICT,
    request: {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [chatTool('w', SCHEMA)],
      response_format: { type: 'json_schema', json_schema: { name: 'r', schema: SCHEMA } },
    },
    check: ({ status, out }) => status === 400 && out.error.param === 'response_format',
  },
  {
    name: 'a schema beside functions that may not be called wins at Gemini 2.5',
    client: 'openai-chat',
    model: 'gx25',
    request: {
      messages: [{ role: 'user', content: 'hi' }],
      tool_choice: 'none',
      tools: [chatTool('w', SCHEMA)],
      response_format: { type: 'json_schema', json_schema: { name: 'r', schema: SCHEMA } },
    },
    check: ({ up }) => !up.tools && up.generationConfig.responseJsonSchema,
  },
  {
    name: 'a schema beside functions goes to Gemini 3',
    client: 'openai-chat',
    model: 'gx3',
    request: {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [chatTool('w', SCHEMA)],
      response_format: { type: 'json_schema', json_schema: { name: 'r', schema: SCHEMA } },
    },
    check: ({ up }) => up.tools && up.generationConfig.responseJsonSchema,
  },
  ...(['claude-sonnet-4-5', 'claude-opus-4-8', 'b-claude'] as const).map(
    (model): RequestCase => ({
      name: `a call that must come wins over thinking at ${model}`,
      client: 'openai-responses',
      model,
      request: {
        store: false,
        input: 'q',
        reasoning: { summary: 'auto', effort: 'high' },
        tools: [FIND],
        tool_choice: { type: 'function', name: 'find' },
      },
      check: ({ up, upText }) =>
        /"(?:tool_choice|toolChoice)":\{[^}]*"name":"find"/.test(upText) &&
        !['enabled', 'adaptive'].includes(up.thinking?.type),
    }),
  ),
  {
    name: 'a call that must come wins over a thinking budget of Gemini clients',
    client: 'google-gemini',
    model: 'claude-sonnet-4-5',
    request: {
      contents: [geminiUser({ text: 'q' })],
      tools: [{ functionDeclarations: [{ name: 'find' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      generationConfig: { thinkingConfig: { thinkingBudget: 2048 } },
    },
    check: ({ up, dropped }) =>
      up.tool_choice.type === 'any' && !up.thinking && /thinkingConfig/.test(dropped),
  },
  {
    name: 'a call of an MCP server in a history keeps the names of both',
    client: 'anthropic-messages',
    model: 'gpt-5.4',
    request: {
      max_tokens: 50,
      messages: [
        { role: 'user', content: 'q' },
        assistant(
          { type: 'mcp_tool_use', id: 'm1', name: 'look', server_name: 'maps', input: { a: 1 } },
          {
            type: 'mcp_tool_result',
            tool_use_id: 'm1',
            is_error: false,
            content: [{ type: 'text', text: 'found' }],
          },
        ),
        { role: 'user', content: 'r' },
      ],
    },
    check: ({ upText }) => /\[maps: look\]/.test(upText) && /found/.test(upText),
  },
  {
    name: 'an unknown block with a text is replayed under its own name',
    client: 'anthropic-messages',
    model: 'gpt-5.4',
    request: {
      max_tokens: 50,
      messages: [
        { role: 'user', content: 'q' },
        assistant({ type: 'compaction', content: 'so far' }),
        { role: 'user', content: 'r' },
      ],
    },
    check: ({ upText, status, dropped }) =>
      status === 200 && !/null|\[other\]/.test(upText) && /so far/.test(upText + dropped),
  },
]
