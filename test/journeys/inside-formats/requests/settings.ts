/** Settings that a target refuses: mapped, named or left out. */
import type { RequestCase } from './request-case.ts'

export const cases: readonly RequestCase[] = [
  {
    name: "gemini-cli's sampling at a reasoning model of chat",
    isWrong: true,
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
    isWrong: true,
    client: 'openai-responses',
    model: 'chat',
    request: { input: 'hi', store: false, metadata: { a: 'b' } },
    check: ({ up }) => !up.metadata || up.store === true,
  },
  {
    name: 'an image modality of Gemini for chat',
    isWrong: true,
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
    isWrong: true,
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
]
