/** Descriptions for clients of the endpoints for objects that upstreams keep. */
import type { RouteDescription } from '../../engine/plugin.ts'
import { binary, fields, integer, json, list, object, query, text } from '../shapes.ts'

const file = object(
  { name: text },
  {
    displayName: text,
    mimeType: text,
    sizeBytes: text,
    createTime: text,
    updateTime: text,
    expirationTime: text,
    sha256Hash: text,
    uri: text,
    state: text,
    error: fields,
    videoMetadata: fields,
  },
)
const cache = object(
  { name: text, model: text },
  {
    displayName: text,
    createTime: text,
    updateTime: text,
    expireTime: text,
    usageMetadata: object({}, { totalTokenCount: integer }),
  },
)
const PAGING = [
  query('pageSize', 'Entries of a page: 1 to 100, 10 by default', integer),
  query('pageToken', '`nextPageToken` of the page before'),
]
const pageOf = (name: string, item: typeof file) => ({
  responses: json(object({}, { [name]: list(item), nextPageToken: text })),
  parameters: PAGING,
})

export const ABOUT: Readonly<Record<string, RouteDescription>> = {
  'upload-file': {
    summary: "Uploads a file to the provider, in Google's resumable or multipart protocol",
    body: { '*/*': binary },
    responses: json(object({}, { file })),
    parameters: [query('upload_id', 'The id of an upload that has begun')],
  },
  'list-files': {
    summary: 'Lists the files that the account has at the provider',
    ...pageOf('files', file),
  },
  'show-file': { summary: 'Shows a file at the provider', responses: json(file) },
  'download-file': {
    summary: 'Downloads a file that the provider made',
    responses: { '*/*': binary },
  },
  'delete-file': { summary: 'Deletes a file at the provider', responses: json(object({})) },
  'create-cache': {
    summary: 'Stores content at the provider, for requests that name it in `cachedContent`',
    responses: json(cache),
  },
  'list-caches': {
    summary: 'Lists the cached contents of the account',
    ...pageOf('cachedContents', cache),
  },
  'show-cache': { summary: 'Shows cached content', responses: json(cache) },
  'update-cache': {
    summary: 'Sets the lifetime of cached content',
    body: { 'application/json': object({}, { ttl: text, expireTime: text }) },
    responses: json(cache),
    parameters: [query('updateMask', 'The members that change')],
  },
  'delete-cache': { summary: 'Deletes cached content', responses: json(object({})) },
}
