/** Media whose tokens the bytes of a request do not bound, in the forms of all formats. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { mediaReferencesIn } from '../../../plugins/formats/media-references.ts'

type Body = { readonly [key: string]: Json }
const user = (...content: Json[]): Body => ({ messages: [{ role: 'user', content }] })
const input = (...content: Json[]): Body => ({ input: [{ role: 'user', content }] })
const parts = (...list: Json[]): Body => ({ contents: [{ role: 'user', parts: list }] })
const PDF = 'application/pdf'
const SKILL = {
  type: 'inline',
  name: 'a',
  description: 'b',
  source: { type: 'base64', media_type: 'application/zip', data: 'AAAA' },
}

const REFERENCES: readonly (readonly [kind: string, body: Body])[] = [
  ['document', user({ type: 'document', source: { type: 'url', url: 'https://e.com/100' } })],
  ['document', user({ type: 'document', source: { type: 'file', file_id: 'f' } })],
  ['document', user({ type: 'container_upload', file_id: 'f' })],
  ['document', user({ type: 'file', file: { file_id: 'f' } })],
  ['document', user({ type: 'document_url', document_url: 'https://e.com/b' })],
  ['image', user({ type: 'image', source: { type: 'url', url: 'https://e.com/a.mp4' } })],
  ['image', user({ type: 'image_url', image_url: { url: 'https://e.com/1' } })],
  ['image', user({ type: 'image_url', image_url: 'https://e.com/1' })],
  ['image', user({ type: 'image_file', image_file: { file_id: 'f' } })],
  ['video', user({ type: 'video_url', video_url: { url: 'https://e.com/1' } })],
  ['video', user({ video: { format: 'mp4', source: { s3Location: { uri: 's3://b/v' } } } })],
  ['audio', user({ type: 'input_audio', input_audio: { data: 'https://e.com/1' } })],
  ['image', { input: [{ type: 'image', uri: 'https://e.com/1' }] }],
  ['document', { input: [{ type: 'document', uri: 'gs://b/1', mime_type: PDF }] }],
  ['video', { input: [{ type: 'user_input', content: [{ type: 'video', uri: 'files/1' }] }] }],
  ['document', { messages: [{ role: 'system', content: 'fileid://file-1,fileid://file-2' }] }],
  ['audio', { input: 'Hello', reference_audio: 'https://e.com/1' }],
  ['audio', { input: 'Hello', ref_audio_url: 'https://e.com/1' }],
  ['image', { prompt: 'a cat', first_frame_image: 'https://e.com/1' }],
  ['image', { prompt: 'a cat', reference_images: ['https://e.com/1'] }],
  ['video', { prompt: 'a cat', source_video: 'https://e.com/1' }],
  ['audio', { input: 'Hello', reference_audio_id: 'a_1' }],
  ['image', { prompt: 'a cat', first_frame_image_id: 'i_1' }],
  ['image', { prompt: 'a cat', image_tail: 'https://e.com/1' }],
  ['image', { prompt: 'a cat', control_image: 'https://e.com/1' }],
  ['image', { prompt: 'a cat', promptImage: 'https://e.com/1' }],
  ['document', { prompt: 'a cat', style_reference: 'https://e.com/1' }],
  ['audio', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
  [
    'image',
    user({
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'image', source: { type: 'url', url: 'https://e.com/i' } }],
    }),
  ],
  ['document', input({ type: 'input_file', file_url: 'https://e.com/1.pdf' })],
  ['document', input({ type: 'input_file', file_id: 'f' })],
  ['image', input({ type: 'input_image', image_url: 'https://e.com/1' })],
  ['image', input({ type: 'input_image', file_id: 'f' })],
  [
    'image',
    {
      input: [
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [{ type: 'input_image', image_url: 'https://e.com/i' }],
        },
      ],
    },
  ],
  [
    'image',
    {
      input: [
        {
          type: 'computer_call_output',
          call_id: 'c',
          output: { type: 'computer_screenshot', file_id: 'f' },
        },
      ],
    },
  ],
  ['image', { input: [{ type: 'image_generation_call', id: 'ig_1' }] }],
  ['video', parts({ fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } })],
  ['document', parts({ file_data: { file_uri: 'gs://b/c', mime_type: PDF } })],
  ['document', parts({ fileData: { fileUri: 'https://g.com/v1beta/files/abc' } })],
  [
    'image',
    parts({
      functionResponse: {
        name: 'f',
        response: {},
        parts: [{ fileData: { fileUri: 'gs://b/c.png' } }],
      },
    }),
  ],
  ['image', { input: [{ type: 'image_url', image_url: { url: 'https://e.com/i' } }] }],
  ['image', { inputs: [{ content: [{ type: 'image_url', image_url: 'https://e.com/i' }] }] }],
  ['image', { input: [{ image: 'https://e.com/i' }] }],
  ['document', { input: [{ url: 'https://e.com/i' }] }],
  ['document', { input: { url: 'https://e.com/i' } }],
  ['image', { inputs: ['a', { url: 'https://e.com/i.png' }] }],
  ['document', { query: { url: 'https://e.com/i' }, documents: ['a'] }],
  ['audio', { model: 'm', url: 'https://e.com/a.mp3' }],
  ['document', { model: 'm', url: 'https://e.com/a' }],
  ['document', { model: 'm', file_url: 'https://e.com/a' }],
  ['image', { query: 'q', documents: [{ image: 'https://e.com/i' }] }],
  ['image', { prompt: 'draw', image: 'https://e.com/i' }],
  ['document', { prompt: 'draw', reference_ids: ['r_1'] }],
  ['image', { prompt: 'draw', image: { gcsUri: 'gs://b/i' } }],
  [
    'image',
    {
      input: 'draw',
      tools: [{ type: 'image_generation', input_image_mask: { file_id: 'f' } }],
    },
  ],
]
for (const [kind, body] of REFERENCES)
  t.test(`media: found in ${JSON.stringify(body)}`, async t => {
    t.match(mediaReferencesIn(body), { references: [kind], isOpenEnded: false })
  })
t.test('media: each frame of a video is an image', async t => {
  const video = ['https://e.com/1.jpg', 'https://e.com/2.jpg']
  t.equal(mediaReferencesIn(user({ type: 'video', video }))?.references.length, 2)
})
t.test('media: stored prompts, answers and items have an unknown length', async t => {
  for (const body of [
    { prompt: { id: 'pmpt_1' } },
    { cachedContent: 'c' },
    { cached_content: 'c' },
    { previous_response_id: 'r' },
    { conversation: { id: 'conv_1' } },
    { container: 'container_1' },
    { input: [{ type: 'item_reference', id: 'x' }] },
    { input: [{ id: 'msg_1' }] },
    { input: 'x', tools: [{ type: 'code_interpreter', container: 'cntr_1' }] },
    { input: 'x', tools: [{ type: 'shell', environment: { container_id: 'cntr_1' } }] },
    { messages: [], container: { skills: [{ type: 'anthropic', skill_id: 'xlsx' }] } },
    { messages: [], thread: { type: 'continue', previous_message_id: 'msg_1' } },
    { messages: [], tool_resources: { file_search: { vector_store_ids: ['vs_1'] } } },
    { input: 'x', tools: [{ type: 'file_search', file_search_store_names: ['s'] }] },
    { input: 'x', environment: 'env_1' },
    { model: 'arn:aws:bedrock:us-east-1:111122223333:prompt/PROMPT12345:1', messages: [] },
    { modelId: 'arn:aws-us-gov:bedrock:us-gov-west-1:1:prompt/P', messages: [] },
    { messages: [], promptVariables: { city: { text: 'Rome' } } },
    { messages: [], thread_id: 'thread_1' },
    { messages: [], thread: { id: 'thread_1' } },
    { inputs: 'x', conversation_id: 'conv_1' },
    { input: 'x', assistant_id: 'asst_1' },
  ])
    t.match(mediaReferencesIn(body), { isOpenEnded: true }, JSON.stringify(body))
})
t.test('media: inline images and documents are larger than their bytes', async t => {
  const image = 'data:image/png;base64,AAAA'
  for (const body of [
    user({ type: 'image_url', image_url: { url: image } }),
    user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }),
    parts({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }),
    user({ image: { format: 'png', source: { bytes: 'AAAA' } } }),
    input({ type: 'input_image', image_url: image }),
  ])
    t.equal(mediaReferencesIn(body)?.inlineImages.length, 1, JSON.stringify(body))
  for (const body of [
    user({ type: 'document', source: { type: 'base64', media_type: PDF, data: 'AAAA' } }),
    user({ type: 'file', file: { file_data: `data:${PDF};base64,AAAA` } }),
    input({ type: 'input_file', filename: 'a.pdf', file_data: `data:${PDF};base64,AAAA` }),
    parts({ inline_data: { mime_type: PDF, data: 'AAAA' } }),
    user({ type: 'file', file: { filename: 'a.pdf', file_data: 'AAAA' } }),
    { input: 'x', tools: [{ type: 'shell', environment: { skills: [SKILL] } }] },
  ])
    t.equal(mediaReferencesIn(body)?.inlineDocuments, 1, JSON.stringify(body))
})
t.test('media: bytes alone are an image', async t => {
  t.match(mediaReferencesIn({ input: [{ bytes: 'AAAA' }, 'a'] }), { inlineImages: [4] })
})
t.test('media: texts, arguments, citations and settings are none', async t => {
  for (const body of [
    { model: 'm', messages: [{ role: 'user', content: 'see https://e.com/a.png' }] },
    user({ type: 'text', text: 'https://e.com/a.png' }),
    user({ type: 'tool_use', id: 'a', name: 'f', input: { url: 'https://e.com', file_id: 'y' } }),
    user({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'AAAA' } }),
    user({ type: 'search_result', source: 'https://e.com', title: 't', content: [] }),
    user({
      type: 'web_search_tool_result',
      tool_use_id: 'x',
      content: [{ type: 'web_search_result', url: 'https://e.com', encrypted_content: 'e' }],
    }),
    parts({ functionCall: { name: 'f', args: { fileUri: 'gs://b/c' } } }),
    parts({ functionResponse: { name: 'f', response: { image_url: 'https://e.com' } } }),
    input({
      type: 'output_text',
      text: 'hi',
      annotations: [{ type: 'file_citation', file_id: 'f' }],
    }),
    { messages: [], metadata: { thread_id: 't', url: 'https://e.com' } },
    { model: 'arn:aws:bedrock:us-east-1:1:inference-profile/eu.m', messages: [] },
    { messages: [], thread_id: '' },
    { input: 'hi', tools: [{ type: 'mcp', server_url: 'https://e.com', headers: { image: 'a' } }] },
    { input: 'hi', tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
    { input: 'hi', tools: [{ type: 'code_interpreter', container: '' }] },
    {
      messages: [],
      tools: [
        {
          name: 'f',
          input_schema: { properties: { image_url: { type: 'string' }, file_id: 'x' } },
        },
        { type: 'function', function: { name: 'f', parameters: { container: 'x' } } },
      ],
    },
    parts({ text: 'x' }, { functionDeclarations: [{ name: 'f', parameters: { file_id: 'x' } }] }),
    { input: [{ type: 'web_search_call', action: { type: 'open_page', url: 'https://e.com' } }] },
  ])
    t.equal(mediaReferencesIn(body), undefined, JSON.stringify(body))
})
