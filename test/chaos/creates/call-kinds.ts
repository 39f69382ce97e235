/** Requests that are answered at once and charged, some of which are stored. */
import { billed, form, json, type Kind, member, messages } from './kind.ts'

/** One that failed after its answer is free. */
const RESPONSES = `SELECT s.id, COALESCE(p.piece, s.input) AS name,
     CASE WHEN s.status = 'failed' THEN 1 ELSE 0 END AS free
   FROM stored_responses s LEFT JOIN stored_response_parts p
     ON p.account = s.account AND p.response = s.id AND p.name = 'input'`
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=',
  'base64',
)
const GEMINI = '/v1beta/models/gp-4.1'
const contents = (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] })
const response = (name: string, more: object): Kind => ({
  name,
  route: 'responses',
  isBilled: true,
  make: input => json('/v1/responses', { model: 'gp-4.1', input, ...more }),
  rows: RESPONSES,
  nameOfRow: ({ name: input }) => JSON.stringify(input),
  idIn: member('id'),
})

export const CALL_KINDS: readonly Kind[] = [
  billed('chat', 'chat', name =>
    json('/v1/chat/completions', { model: 'gp-4.1', ...messages(name) }),
  ),
  {
    ...billed('chat stream', 'chat', name =>
      json('/v1/chat/completions', { model: 'gp-4.1', stream: true, ...messages(name) }),
    ),
    isStream: true,
    isBroken: text => !text.trimEnd().endsWith('data: [DONE]'),
  },
  billed('messages', 'messages', name =>
    json('/v1/messages', { model: 'cl-sonnet-4-5', max_tokens: 20, ...messages(name) }),
  ),
  billed('completions', 'completions', prompt =>
    json('/v1/completions', { model: 'gp-4.1', prompt }),
  ),
  billed('interaction', 'interactions', input =>
    json('/v1beta/interactions', { model: 'gp-4.1', input }),
  ),
  response('response', {}),
  response('background response', { background: true }),
  billed('compaction', 'compact', input =>
    json('/v1/responses/compact', { model: 'gp-4.1', input }),
  ),
  billed('generate', 'generate-content', name => json(`${GEMINI}:generateContent`, contents(name))),
  {
    ...billed('generate stream', 'stream-generate-content', name =>
      json(`${GEMINI}:streamGenerateContent?alt=sse`, contents(name)),
    ),
    isStream: true,
    isBroken: text => !text.includes('"finishReason"'),
  },
  billed('embeddings', 'embeddings', input =>
    json('/v1/embeddings', { model: 'gp-embedding-3-small', input }),
  ),
  billed('embed content', 'embed-content', text =>
    json('/v1beta/models/gp-embedding-3-small:embedContent', { content: { parts: [{ text }] } }),
  ),
  billed('embed contents', 'batch-embed-contents', text =>
    json('/v1beta/models/gp-embedding-3-small:batchEmbedContents', {
      requests: [{ content: { parts: [{ text }] } }],
    }),
  ),
  billed('rerank', 'rerank', query =>
    json('/v1/rerank', { model: 'rerank-v3.5', query, documents: ['one', 'two'] }),
  ),
  billed('image', 'images', prompt =>
    json('/v1/images/generations', { model: 'dall-e-3', prompt }),
  ),
  billed('image edit', 'image-edits', prompt =>
    form('/v1/images/edits', { prompt, model: 'dall-e-2' }, ['image', 'a.png', PIXEL]),
  ),
  billed('speech', 'speech', input =>
    json('/v1/audio/speech', { model: 'tts-1', voice: 'alloy', input }),
  ),
  billed('transcription', 'transcriptions', prompt =>
    form('/v1/audio/transcriptions', { model: 'whisper-1', prompt }, [
      'file',
      'a.wav',
      'RIFF0000WAVE',
    ]),
  ),
  {
    ...billed('cached content', 'create-cache', displayName =>
      json('/v1beta/cachedContents', {
        model: 'models/gx-2.5-flash',
        displayName,
        ttl: '3600s',
        ...contents('a long text'),
      }),
    ),
    rows: "SELECT name AS id, details AS name FROM provider_resources WHERE kind = 'cachedContents'",
    nameIn: text => member('displayName')(text),
    idIn: member('name'),
  },
]
