/** Content nested in content, media types and empty turns. */
import {
  assistant,
  geminiUser,
  imageBlock,
  imagePart,
  STRICT,
  user,
} from '../../../helpers/formats/request-parts.ts'
import type { RequestCase } from './request-case.ts'
import type { FormatName } from './upstreams.ts'

const PNG = 'iVBORw0KGgo='
const MEDIA_NAMES = [
  ['image/pjpeg', 'image/jpeg'],
  ['image/x-png', 'image/png'],
  ['IMAGE/JPG', 'image/jpeg'],
  ['application/octet-stream', 'image/png'],
] as const
const call = { type: 'tool_use', id: 'c1', name: 'f', input: {} }
const resultWith = (block: object) => ({
  type: 'tool_result',
  tool_use_id: 'c1',
  content: [block],
})
const NESTED = {
  type: 'document',
  title: 'T',
  source: {
    type: 'content',
    content: [
      { type: 'text', text: 'page one' },
      imageBlock('image/png'),
      { type: 'text', text: 'page two' },
    ],
  },
}

const UNKNOWN = { type: 'hologram', x: 1 }
/** A request with a part that no format has, and the place that the refusal names. */
const UNKNOWN_PARTS: Readonly<
  Record<FormatName, { readonly request: object; readonly at: string }>
> = {
  'openai-chat': {
    request: { messages: [user({ type: 'text', text: 'q' }, UNKNOWN)] },
    at: 'messages[0].content[1]',
  },
  'openai-responses': {
    request: { store: false, input: [user({ type: 'input_text', text: 'q' }, UNKNOWN)] },
    at: 'input[0].content[1]',
  },
  'anthropic-messages': {
    request: { max_tokens: 9, messages: [user({ type: 'text', text: 'q' }, UNKNOWN)] },
    at: 'messages[0].content[1]',
  },
  'google-gemini': {
    request: { contents: [geminiUser({ text: 'q' }, { hologram: { x: 1 } })] },
    at: 'contents[0].parts[1]',
  },
}
const OWN_MODELS: Readonly<Record<FormatName, string>> = {
  'openai-chat': 'chat',
  'openai-responses': 'resp',
  'anthropic-messages': 'cl45',
  'google-gemini': 'gx3',
}

export const cases: readonly RequestCase[] = [
  {
    name: 'image/jpg is image/jpeg',
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: { messages: [user(imagePart('data:image/jpg;base64,/9j/4AAQ'))] },
    check: ({ up, status }) => status === 200 && /image\/jpeg/.test(JSON.stringify(up)),
  },
  {
    name: 'an image in a document goes to responses',
    client: 'anthropic-messages',
    model: 'resp',
    headers: STRICT,
    request: {
      max_tokens: 100,
      messages: [
        user(
          {
            type: 'document',
            source: {
              type: 'content',
              content: [{ type: 'text', text: 'page 1' }, imageBlock('image/png')],
            },
          },
          { type: 'text', text: 'describe' },
        ),
      ],
    },
    check: ({ upText }) => /input_image/.test(upText),
  },
  {
    name: 'an image in a document goes to Gemini',
    client: 'anthropic-messages',
    model: 'gx3',
    headers: STRICT,
    request: {
      max_tokens: 100,
      messages: [
        user(
          { type: 'document', source: { type: 'content', content: [imageBlock('image/png')] } },
          { type: 'text', text: 'describe' },
        ),
      ],
    },
    check: ({ upText }) => /inlineData/.test(upText),
  },
  {
    name: 'an empty user turn is refused or filled',
    client: 'openai-chat',
    model: 'gemini-2.5-flash',
    request: { messages: [{ role: 'user', content: '' }] },
    check: ({ up, status }) => status === 400 || up.contents.length === 1,
  },
  {
    name: 'an empty user text for Gemini',
    client: 'openai-chat',
    model: 'gx25',
    request: { messages: [{ role: 'user', content: '' }] },
    check: ({ up, status }) => status === 400 || up.contents.length === 1,
  },
  ...MEDIA_NAMES.flatMap(([name, right]) =>
    (['cl45', 'gx3', 'b-claude', 'resp', 'chat'] as const).map(
      (model): RequestCase => ({
        name: `${name} is ${right} (${model})`,
        client: model === 'chat' ? 'anthropic-messages' : 'openai-chat',
        model,
        request:
          model === 'chat'
            ? {
                max_tokens: 9,
                messages: [
                  { role: 'user', content: 'q' },
                  assistant(call),
                  user(resultWith(imageBlock(name))),
                ],
              }
            : {
                messages: [
                  user({ type: 'text', text: 'q' }, imagePart(`data:${name};base64,${PNG}`)),
                ],
              },
        check: ({ upText, status }) =>
          status === 200 &&
          !upText.includes(name) &&
          upText.includes(model === 'b-claude' ? right.slice(6) : right),
      }),
    ),
  ),
  ...(['audio/mp3', 'audio/x-mp3', 'audio/x-wav', 'audio/vnd.wave'] as const).map(
    (name): RequestCase => ({
      name: `${name} is a format of chat`,
      client: 'google-gemini',
      model: 'chat',
      request: { contents: [geminiUser({ inlineData: { mimeType: name, data: 'eA==' } })] },
      check: ({ up }) =>
        up.messages[0].content[0].input_audio.format === (/mp3/.test(name) ? 'mp3' : 'wav'),
    }),
  ),
  ...(['resp', 'chat', 'gx3', 'b-claude'] as const).flatMap(model =>
    [false, true].map(
      (isResult): RequestCase => ({
        name: `content in a document${isResult ? ' of a tool result' : ''} goes to ${model}`,
        client: 'anthropic-messages',
        model,
        request: {
          max_tokens: 9,
          messages: isResult
            ? [{ role: 'user', content: 'q' }, assistant(call), user(resultWith(NESTED))]
            : [user(NESTED, { type: 'text', text: 'q' })],
        },
        check: ({ upText, status }) => {
          const hidden = Buffer.from('page one').toString('base64')
          return (
            status === 200 &&
            (upText.includes('page one') || upText.includes(hidden)) &&
            (upText.includes('page two') ||
              upText.includes(Buffer.from('page two').toString('base64'))) &&
            upText.includes(PNG)
          )
        },
      }),
    ),
  ),
  ...Object.entries(UNKNOWN_PARTS).flatMap(([client, { request, at }]) =>
    ['chat', 'resp', 'cl45', 'gx3', 'b-claude']
      .filter(model => model !== OWN_MODELS[client as FormatName])
      .flatMap(model =>
        [undefined, true as const].map(
          (stream): RequestCase => ({
            name: `a part of an unknown type is refused at its place: ${client} to ${model}${stream ? ', streamed' : ''}`,
            client: client as FormatName,
            model,
            ...(stream && { stream }),
            request,
            check: ({ status, out, up }) =>
              status === 400 && up === undefined && out.error.message.includes(at),
          }),
        ),
      ),
  ),
  {
    name: 'content of an unknown type in a document is refused at its place',
    client: 'anthropic-messages',
    model: 'resp',
    request: {
      max_tokens: 9,
      messages: [
        user({ type: 'document', source: { type: 'content', content: [{ type: 'hologram' }] } }),
      ],
    },
    check: ({ status, out, up }) =>
      status === 400 &&
      up === undefined &&
      out.error.message.includes('messages[0].content[0].source.content[0]'),
  },
  {
    name: 'an image by http is refused for Anthropic at its place',
    client: 'openai-chat',
    model: 'cl45',
    request: {
      messages: [user(imagePart('http://a.example/x.png'))],
    },
    check: ({ status, out, up }) =>
      status === 400 && up === undefined && out.error.param === 'messages[0].content[0]',
  },
  {
    name: 'a GIF is refused for Gemini at its place',
    client: 'anthropic-messages',
    model: 'gx3',
    request: { max_tokens: 9, messages: [user(imageBlock('image/gif'))] },
    check: ({ status, out, up }) =>
      status === 400 && up === undefined && out.error.message.includes('messages[0].content[0]'),
  },
]
