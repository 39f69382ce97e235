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
/** The header of an API key or a token. */
export const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
