/** Requests with a JSON body, over `fetch`. */

/** A text is sent unchanged. */
export const postTo = (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
/** A chat call with one short message. */
export const postChat = (
  url: string,
  model: string,
  headers?: Readonly<Record<string, string>>,
): Promise<Response> =>
  postTo(
    `${url}/v1/chat/completions`,
    { model, messages: [{ role: 'user', content: 'Hello' }] },
    headers,
  )
/** The header of an API key or a token. */
export const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
