/** Settings that a target refuses: mapped, named or left out. */
import type { RequestCase } from './request-case.ts'

const QUESTION = { max_tokens: 9, messages: [{ role: 'user', content: 'q' }] }
const contents = [{ role: 'user', parts: [{ text: 'q' }] }]
const audio = [{ role: 'user', parts: [{ inlineData: { mimeType: 'audio/wav', data: 'eA==' } }] }]
const BOTH_FORMATS: readonly (readonly [string, string, boolean, object])[] = [
  ['responses for messages', 'both', false, { ...QUESTION, stop_sequences: [] }],
  ['chat for stop sequences', 'both', true, { ...QUESTION, stop_sequences: ['X'] }],
  [
    'responses where the model takes no stop',
    'both-r',
    false,
    { ...QUESTION, stop_sequences: ['X'] },
  ],
  ['responses for Gemini', 'both', false, { contents }],
  ['chat for a seed', 'both', true, { contents, generationConfig: { seed: 1 } }],
  ['chat for audio', 'both-r', true, { contents: audio }],
]

export const cases: readonly RequestCase[] = [
  {
    name: "gemini-cli's sampling at a reasoning model of chat",
    client: 'google-gemini',
    model: 'chat-r',
    request: {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: { temperature: 1, topP: 0.95, topK: 64, stopSequences: ['X'] },
    },
    check: ({ up, dropped }) =>
      !('top_p' in up) && !('stop' in up) && /topP/.test(dropped) && /stopSequences/.test(dropped),
  },
  {
    name: 'metadata without store',
    client: 'openai-responses',
    model: 'chat',
    request: { input: 'hi', store: false, metadata: { a: 'b' } },
    check: ({ up }) => !up.metadata || up.store === true,
  },
  {
    name: 'an image modality of Gemini for chat',
    client: 'google-gemini',
    model: 'chat',
    request: {
      contents: [{ role: 'user', parts: [{ text: 'draw' }] }],
      generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
    },
    check: ({ upText, status, dropped }) =>
      status === 400 || (!/image/.test(upText) && /responseModalities/.test(dropped)),
  },
  {
    name: 'a beta goes to Vertex with its member, or neither does',
    client: 'anthropic-messages',
    model: 'v-claude',
    headers: { 'anthropic-beta': 'context-management-2025-06-27' },
    request: {
      max_tokens: 100,
      messages: [{ role: 'user', content: 'q' }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    },
    check: ({ up, upHeaders }) => !!upHeaders['anthropic-beta'] === !!up.context_management,
  },
  ...(['resp', 'gx-t', 'b-t'] as const).map(
    (model): RequestCase => ({
      name: `a model that refuses sampling gets none, and neutral values are not named (${model})`,
      client: 'openai-chat',
      model,
      request: {
        messages: [{ role: 'user', content: 'q' }],
        temperature: 1,
        top_p: 0.5,
        presence_penalty: 0,
        frequency_penalty: 0.5,
        logprobs: false,
      },
      check: ({ upText, dropped }) =>
        !/temperature|top_?p|penalty|logprobs/i.test(upText) &&
        /top_p/.test(dropped) &&
        /frequency_penalty/.test(dropped) &&
        !/temperature|presence|logprobs/.test(dropped),
    }),
  ),
  {
    name: 'a model of chat that refuses sampling: penalties, bias, logprobs and stop are named',
    client: 'openai-responses',
    model: 'chat-r',
    stream: true,
    request: { input: 'q', temperature: 0.2, top_p: 1, top_logprobs: 2 },
    check: ({ up, dropped }) =>
      !('temperature' in up || 'top_p' in up || 'top_logprobs' in up) &&
      dropped === 'top_logprobs, temperature',
  },
  {
    name: 'metadata with store stays',
    client: 'openai-responses',
    model: 'chat',
    request: { input: 'hi', store: true, metadata: { a: 'b' } },
    check: ({ up, dropped }) => up.metadata.a === 'b' && up.store === true && dropped === '',
  },
  {
    name: 'metadata without store is refused in strict mode',
    client: 'openai-responses',
    model: 'chat',
    headers: { 'x-tollgate-strict': 'true' },
    request: { input: 'hi', store: false, metadata: { a: 'b' } },
    check: ({ status, out }) => status === 400 && out.error.param === 'metadata',
  },
  ...(['AUDIO', 'IMAGE'] as const).map(
    (kind): RequestCase => ({
      name: `audio of Gemini gets text, a voice and a format at chat (${kind})`,
      client: 'google-gemini',
      model: 'chat',
      stream: true,
      request: {
        contents: [{ role: 'user', parts: [{ text: 'speak' }] }],
        generationConfig: {
          responseModalities: [kind],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
        },
      },
      check: ({ up, dropped }) =>
        kind === 'AUDIO'
          ? up.modalities.join() === 'text,audio' &&
            up.audio.voice === 'alloy' &&
            up.audio.format === 'pcm16' &&
            /speechConfig/.test(dropped)
          : !up.modalities && !up.audio && /responseModalities/.test(dropped),
    }),
  ),
  ...([true, undefined] as const).map(
    (stream): RequestCase => ({
      name: `a model in the path of Vertex is not reported${stream ? ', streamed' : ''}`,
      client: 'anthropic-messages',
      model: 'v-claude',
      ...(stream && { stream }),
      headers: {
        'x-tollgate-strict': 'true',
        'anthropic-beta': 'context-management-2025-06-27',
      },
      request: {
        max_tokens: 9,
        messages: [{ role: 'user', content: 'q' }],
        context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      },
      check: ({ status, dropped, up, upHeaders }) =>
        status === 200 &&
        dropped === '' &&
        !('model' in up) &&
        upHeaders['anthropic-beta'] === 'context-management-2025-06-27',
    }),
  ),
  ...(['cl45', 'gx3', 'resp'] as const).map(
    (model): RequestCase => ({
      name: `an unknown member of chat has its own name (${model})`,
      client: 'openai-chat',
      model,
      request: {
        messages: [{ role: 'user', content: 'q' }],
        thinking: { type: 'enabled' },
        choice: 1,
        form: 1,
      },
      check: ({ dropped }) => dropped === 'thinking, choice, form',
    }),
  ),
  ...BOTH_FORMATS.map(
    ([title, model, isChat, request]): RequestCase => ({
      name: `an upstream with both formats of OpenAI: ${title}`,
      client: 'contents' in request ? 'google-gemini' : 'anthropic-messages',
      model,
      request,
      check: ({ up }) => 'messages' in up === isChat && 'input' in up !== isChat,
    }),
  ),
]
