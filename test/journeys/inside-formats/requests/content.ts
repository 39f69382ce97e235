/** Content nested in content, media types and empty turns. */
import type { RequestCase } from './request-case.ts'

export const cases: readonly RequestCase[] = [
  {
    name: 'image/jpg is image/jpeg',
    isWrong: true,
    client: 'openai-chat',
    model: 'claude-sonnet-4-5',
    request: {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/jpg;base64,/9j/4AAQ' } }],
        },
      ],
    },
    check: ({ up, status }) => status === 200 && /image\/jpeg/.test(JSON.stringify(up)),
  },
  {
    name: 'an image in a document goes to responses',
    isWrong: true,
    client: 'anthropic-messages',
    model: 'resp',
    headers: { 'x-tollgate-strict': 'true' },
    request: {
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              source: {
                type: 'content',
                content: [
                  { type: 'text', text: 'page 1' },
                  {
                    type: 'image',
                    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
                  },
                ],
              },
            },
            { type: 'text', text: 'describe' },
          ],
        },
      ],
    },
    check: ({ upText }) => /input_image/.test(upText),
  },
  {
    name: 'an image in a document goes to Gemini',
    client: 'anthropic-messages',
    model: 'gx3',
    headers: { 'x-tollgate-strict': 'true' },
    request: {
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              source: {
                type: 'content',
                content: [
                  {
                    type: 'image',
                    source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
                  },
                ],
              },
            },
            { type: 'text', text: 'describe' },
          ],
        },
      ],
    },
    check: ({ upText }) => /inlineData/.test(upText),
  },
  {
    name: 'an empty user turn is refused or filled',
    isWrong: true,
    client: 'openai-chat',
    model: 'gemini-2.5-flash',
    request: { messages: [{ role: 'user', content: '' }] },
    check: ({ up, status }) => status === 400 || up.contents.length === 1,
  },
  {
    name: 'an empty user text for Gemini',
    isWrong: true,
    client: 'openai-chat',
    model: 'gx25',
    request: { messages: [{ role: 'user', content: '' }] },
    check: ({ up, status }) => status === 400 || up.contents.length === 1,
  },
]
