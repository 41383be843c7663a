import type { JsonObject } from '@/json/json.ts'
import { CLOCK, PIXEL, WEATHER } from './cell.ts'
import type { Side } from './talk.ts'

const IMAGE = `data:image/png;base64,${PIXEL}`

/** Conversations that callers really send and that some vendor would refuse as they are. */
export const HISTORIES: Record<Side, Record<string, JsonObject>> = {
  chat: chatHistories(),
  responses: responsesHistories(),
  messages: messagesHistories(),
  gemini: geminiHistories(),
}

function chatHistories(): Record<string, JsonObject> {
  const tools = [WEATHER, CLOCK].map(tool => ({ type: 'function', function: { ...tool } }))
  const user = (content: unknown) => ({ role: 'user', content }) as JsonObject
  const call = (id: string, name = WEATHER.name, args = '{"city":"Oslo","days":1}') => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  })
  const calls = (content: string | null, ...tool_calls: JsonObject[]) => ({
    role: 'assistant',
    content,
    tool_calls,
  })
  const result = (id: string, content: unknown = 'sunny') =>
    ({ role: 'tool', tool_call_id: id, content }) as JsonObject
  const of = (...messages: JsonObject[]) => ({ messages, tools })
  return {
    'only system text': of({ role: 'system', content: 'Say hello.' }),
    'a talk that the assistant begins': of({ role: 'assistant', content: 'Welcome.' }, user('Hello')),
    'a talk that the assistant ends': of(user('Hello'), { role: 'assistant', content: 'Well, ' }),
    'two user messages in a row': of(user('One'), user('Two')),
    'two assistant messages in a row': of(
      user('One'),
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'b' },
      user('Two'),
    ),
    'empty texts': of(
      { role: 'system', content: '' },
      user(''),
      { role: 'assistant', content: '' },
      user([
        { type: 'text', text: '' },
        { type: 'text', text: 'Hello' },
      ]),
    ),
    'blank texts': of(user('  \n'), { role: 'assistant', content: ' ' }, user('Hello')),
    'a call with empty content': of(user('Go'), calls('', call('call_1')), result('call_1')),
    'a call with text': of(user('Go'), calls('Let me see. ', call('call_1')), result('call_1')),
    'calls without arguments': of(
      user('Go'),
      calls(null, call('a', CLOCK.name, ''), call('b', CLOCK.name, '{}')),
      result('a'),
      result('b'),
    ),
    'arguments that are no JSON': of(user('Go'), calls(null, call('a', CLOCK.name, '{"zone":')), result('a')),
    'arguments that are no object': of(user('Go'), calls(null, call('a', CLOCK.name, '[1,2]')), result('a')),
    'results in another order': of(
      user('Go'),
      calls(null, call('a'), call('b', CLOCK.name, '{}')),
      result('b', 'noon'),
      result('a'),
    ),
    'an empty result': of(user('Go'), calls(null, call('a')), result('a', '')),
    'a result in parts': of(
      user('Go'),
      calls(null, call('a')),
      result('a', [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ]),
    ),
    'a call id of another vendor': of(
      user('Go'),
      calls(null, call('functions.get_weather:0')),
      result('functions.get_weather:0'),
    ),
    'a long call id': of(user('Go'), calls(null, call('x'.repeat(90))), result('x'.repeat(90))),
    'the same call id twice': of(
      user('Go'),
      calls(null, call('call_0')),
      result('call_0'),
      calls(null, call('call_0')),
      result('call_0'),
      user('Again'),
    ),
    'a call without result': of(user('Go'), calls(null, call('a')), user('Never mind')),
    'a result without call': of(user('Go'), result('lost'), user('Hello')),
    'a call of a tool that is not offered': of(
      user('Go'),
      calls(null, call('a', 'forgotten', '{}')),
      result('a'),
    ),
    'calls but no tools any more': {
      messages: [user('Go'), calls(null, call('a')), result('a'), user('Thanks')],
    },
    'the old functions': {
      messages: [
        user('Go'),
        {
          role: 'assistant',
          content: null,
          function_call: { name: WEATHER.name, arguments: '{"city":"Oslo","days":1}' },
        },
        { role: 'function', name: WEATHER.name, content: 'sunny' },
      ],
      functions: [{ ...WEATHER }],
      function_call: 'auto',
    },
    'a user text right after a result': of(user('Go'), calls(null, call('a')), result('a'), user('And now?')),
    'system text between call and result': of(
      user('Go'),
      calls(null, call('a')),
      result('a'),
      { role: 'system', content: 'Be brief.' },
      user('And?'),
    ),
    'a refusal in the history': of(
      user('Do it'),
      { role: 'assistant', content: null, refusal: 'No.' },
      user('Please'),
    ),
    'reasoning in the history': of(
      user('Why'),
      { role: 'assistant', content: 'So.', reasoning_content: 'Because' },
      user('Sure?'),
    ),
    'names on messages': of(
      { role: 'user', name: 'ada', content: 'Hi' },
      { role: 'user', name: 'bob', content: 'Ho' },
    ),
    'only an image': of(user([{ type: 'image_url', image_url: { url: IMAGE } }])),
    'a tool without parameters': {
      messages: [user('Go')],
      tools: [{ type: 'function', function: { name: 'ping' } }],
    },
    'a tool with empty parameters': {
      messages: [user('Go')],
      tools: [{ type: 'function', function: { name: 'ping', parameters: {} } }],
    },
    'no tools in the list': { messages: [user('Go')], tools: [] },
    'a limit below the least': { messages: [user('Go')], max_completion_tokens: 1 },
    nulls: {
      messages: [user('Go')],
      temperature: null,
      max_tokens: null,
      stop: null,
      tools: null,
      tool_choice: null,
      response_format: null,
      user: null,
      metadata: null,
      reasoning_effort: null,
    },
    'a hot temperature': { messages: [user('Go')], temperature: 1.7 },
    'a tool choice without tools': { messages: [user('Go')], tool_choice: 'none' },
    'an array of stops with one too many': { messages: [user('Go')], stop: ['a', 'b', 'c', 'd'] },
  }
}

function responsesHistories(): Record<string, JsonObject> {
  const tools = [WEATHER, CLOCK].map(tool => ({ type: 'function', strict: false, ...tool }))
  const call = (call_id: string, name = WEATHER.name, args = '{"city":"Oslo","days":1}') => ({
    type: 'function_call',
    call_id,
    name,
    arguments: args,
  })
  const output = (call_id: string, value: unknown = 'sunny') =>
    ({ type: 'function_call_output', call_id, output: value }) as JsonObject
  const user = (content: unknown) => ({ role: 'user', content }) as JsonObject
  const of = (...input: JsonObject[]) => ({ input, tools, store: false })
  return {
    'a plain text': { input: 'Hello', store: false },
    'nothing but instructions': { input: [], instructions: 'Say hello.', store: false },
    'items without a type': of(user('One'), { role: 'assistant', content: 'a' }, user('Two')),
    'an assistant message in parts': of(
      user('One'),
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        status: 'completed',
        content: [{ type: 'output_text', text: 'a', annotations: [] }],
        phase: 'commentary',
      },
      user('Two'),
    ),
    'a refusal in the history': of(
      user('One'),
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      user('Two'),
    ),
    'developer text in the middle': of(user('One'), { role: 'developer', content: 'Be kind.' }, user('Two')),
    'parallel calls, results apart': of(
      user('Go'),
      call('a'),
      call('b', CLOCK.name, '{}'),
      output('a'),
      output('b'),
    ),
    'calls and results in turns': of(
      user('Go'),
      call('a'),
      output('a'),
      call('b', CLOCK.name, '{}'),
      output('b'),
      user('So?'),
    ),
    'results in another order': of(
      user('Go'),
      call('a'),
      call('b', CLOCK.name, '{}'),
      output('b'),
      output('a'),
    ),
    'a message between call and result': of(
      user('Go'),
      call('a'),
      { role: 'assistant', content: 'Looking' },
      output('a'),
    ),
    'a call without result': of(user('Go'), call('a'), user('Never mind')),
    'a result without call': of(user('Go'), output('lost'), user('Hello')),
    'a result with an image': of(
      user('Go'),
      call('a'),
      output('a', [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image_url: IMAGE },
      ]),
    ),
    'an empty result': of(user('Go'), call('a'), output('a', '')),
    'a result of an empty list': of(user('Go'), call('a'), output('a', [])),
    'reasoning without content': of(
      user('Go'),
      { type: 'reasoning', id: 'rs_1', summary: [] },
      call('a'),
      output('a'),
    ),
    'reasoning with a summary': of(
      user('Go'),
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'hm' }],
        encrypted_content: null,
      },
      { role: 'assistant', content: 'So' },
      user('More'),
    ),
    'a custom tool': {
      input: [
        user('Go'),
        { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: '*** "x"\n\\' },
        { type: 'custom_tool_call_output', call_id: 'c', output: 'ok' },
      ],
      tools: [
        {
          type: 'custom',
          name: 'patch',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: /x/' },
        },
      ],
      store: false,
    },
    'a group of tools': {
      input: [
        user('Go'),
        { ...call('n', 'search', '{}'), namespace: 'docs' },
        output('n'),
        { ...call('m', 'search', '{}'), namespace: 'mail' },
        output('m'),
      ],
      tools: ['docs', 'mail'].map(name => ({
        type: 'namespace',
        name,
        description: name,
        tools: [
          { type: 'function', strict: false, name: 'search', parameters: { type: 'object', properties: {} } },
        ],
      })),
      store: false,
    },
    'a local shell': {
      input: [
        user('Go'),
        {
          type: 'local_shell_call',
          id: 'lsh_1',
          call_id: 's',
          status: 'completed',
          action: { type: 'exec', command: ['ls'], env: {} },
        },
        { type: 'local_shell_call_output', id: 's', call_id: 's', output: 'a b' },
      ],
      tools: [{ type: 'local_shell' }],
      store: false,
    },
    'tools that come with the input': {
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [{ type: 'function', strict: false, ...CLOCK }],
        },
        user('Go'),
      ],
      store: false,
    },
    'a web search in the history': of(
      user('Go'),
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } },
      { role: 'assistant', content: 'Found.' },
      user('More'),
    ),
    'only an image': of(user([{ type: 'input_image', image_url: IMAGE, detail: 'auto' }])),
    'a function without parameters': {
      input: 'Go',
      tools: [{ type: 'function', name: 'ping', parameters: null, strict: null }],
      store: false,
    },
    nulls: {
      input: 'Go',
      instructions: null,
      temperature: null,
      tools: [],
      tool_choice: 'auto',
      reasoning: null,
      text: null,
      include: null,
      metadata: null,
      max_output_tokens: null,
      previous_response_id: null,
      store: false,
    },
    'the probe of an agent': { input: [], max_output_tokens: 16, store: false },
  }
}

function messagesHistories(): Record<string, JsonObject> {
  const tools = [WEATHER, CLOCK].map(({ name, parameters }) => ({ name, input_schema: parameters }))
  const user = (content: unknown) => ({ role: 'user', content }) as JsonObject
  const assistant = (content: unknown) => ({ role: 'assistant', content }) as JsonObject
  const use = (id: string, name = WEATHER.name, input: JsonObject = { city: 'Oslo', days: 1 }) => ({
    type: 'tool_use',
    id,
    name,
    input,
  })
  const result = (tool_use_id: string, more: JsonObject = { content: 'sunny' }) => ({
    type: 'tool_result',
    tool_use_id,
    ...more,
  })
  const text = (words: string) => ({ type: 'text', text: words })
  const of = (...messages: JsonObject[]) => ({ messages, tools, max_tokens: 1000 })
  return {
    'a talk that the assistant begins': of(assistant('Welcome'), user('Hello')),
    'a talk that the assistant ends': of(user('Hello'), assistant('Well,')),
    'two user messages in a row': of(user('One'), user('Two')),
    'text after the results': of(user('Go'), assistant([use('a')]), user([result('a'), text('And now?')])),
    'results in two messages': of(
      user('Go'),
      assistant([use('a'), use('b', CLOCK.name, {})]),
      user([result('a')]),
      user([result('b')]),
    ),
    'a result without content': of(user('Go'), assistant([use('a')]), user([result('a', {})])),
    'a result of an empty list': of(user('Go'), assistant([use('a')]), user([result('a', { content: [] })])),
    'a failed result without content': of(
      user('Go'),
      assistant([use('a')]),
      user([result('a', { is_error: true })]),
    ),
    'a result with an image': of(
      user('Go'),
      assistant([text('Looking'), use('a')]),
      user([
        result('a', {
          content: [
            text('see'),
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
          ],
        }),
      ]),
    ),
    'a result with only an image': of(
      user('Go'),
      assistant([use('a')]),
      user([
        result('a', {
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }],
        }),
      ]),
    ),
    'text after a call': of(user('Go'), assistant([use('a'), text('Just a moment')]), user([result('a')])),
    'system in blocks': {
      ...of(user('Go')),
      system: [text('One.'), { ...text('Two.'), cache_control: { type: 'ephemeral' } }],
    },
    'system in the middle': of(
      user('One'),
      assistant('a'),
      { role: 'system', content: 'Be kind.' },
      user('Two'),
    ),
    'five marks': {
      ...of(
        user([1, 2, 3, 4].map(count => ({ ...text(`part ${count}`), cache_control: { type: 'ephemeral' } }))),
      ),
      system: [{ ...text('s'), cache_control: { type: 'ephemeral', ttl: '1h' } }],
    },
    'calls but no tools any more': {
      messages: [user('Go'), assistant([use('a')]), user([result('a')])],
      max_tokens: 100,
    },
    'a client tool': {
      messages: [
        user('Go'),
        assistant([use('a', 'bash', { command: 'ls' })]),
        user([result('a', { content: 'x' })]),
      ],
      tools: [
        { type: 'bash_20250124', name: 'bash' },
        { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      ],
      max_tokens: 100,
    },
    'a search by the vendor': {
      messages: [
        user('Go'),
        assistant([
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
          { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
          text('Found.'),
        ]),
        user('More'),
      ],
      max_tokens: 100,
    },
    'a search result': of(
      user([
        text('What?'),
        { type: 'search_result', source: 'https://example.com', title: 'T', content: [text('x')] },
      ]),
    ),
    'a document of text': of(
      user([
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'words' }, title: 'T' },
        text('Sum up'),
      ]),
    ),
    'a document of blocks': of(
      user([{ type: 'document', source: { type: 'content', content: [text('words')] } }, text('Sum up')]),
    ),
    'a tool whose schema has no properties': {
      messages: [user('Go')],
      tools: [{ name: 'ping', input_schema: { type: 'object' } }],
      max_tokens: 100,
    },
    'thinking with a small limit': {
      messages: [user('Go')],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 1100,
    },
    'adaptive thinking': {
      messages: [user('Go')],
      thinking: { type: 'adaptive' },
      output_config: { effort: 'max' },
      max_tokens: 5000,
    },
    'thinking and a tool choice': {
      ...of(user('Go')),
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 3000,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    'a limit of one': { messages: [user('Go')], max_tokens: 1 },
  }
}

function geminiHistories(): Record<string, JsonObject> {
  const tools = [
    {
      functionDeclarations: [WEATHER, CLOCK].map(({ name, parameters }) => ({
        name,
        parametersJsonSchema: parameters,
      })),
    },
  ]
  const user = (...parts: JsonObject[]) => ({ role: 'user', parts })
  const model = (...parts: JsonObject[]) => ({ role: 'model', parts })
  const call = (name = WEATHER.name, args: JsonObject | undefined = { city: 'Oslo', days: 1 }) => ({
    functionCall: args === undefined ? { name } : { name, args },
  })
  const response = (name = WEATHER.name, value: JsonObject = { result: 'sunny' }) => ({
    functionResponse: { name, response: value },
  })
  const of = (...contents: JsonObject[]) => ({ contents, tools })
  return {
    'a part without a role': of({ parts: [{ text: 'Hello' }] }),
    'contents as one object': { contents: { parts: [{ text: 'Hello' }] } },
    'system text as one part': {
      contents: [user({ text: 'Go' })],
      systemInstruction: { parts: { text: 'Be kind.' } },
    },
    'snake case': {
      contents: [user({ text: 'What?' }, { inline_data: { mime_type: 'image/png', data: PIXEL } })],
      system_instruction: { parts: [{ text: 'Be kind.' }] },
      generation_config: { max_output_tokens: 500, stop_sequences: ['END'], top_k: 5 },
      tool_config: { function_calling_config: { mode: 'AUTO' } },
      tools: [{ function_declarations: [{ name: 'ping', description: 'p' }] }],
    },
    'a talk that the model begins': of(model({ text: 'Welcome' }), user({ text: 'Hello' })),
    'a talk that the model ends': of(user({ text: 'Hello' }), model({ text: 'Well,' })),
    'two user contents in a row': of(user({ text: 'One' }), user({ text: 'Two' })),
    'two calls of one tool': of(
      user({ text: 'Go' }),
      model(call(), call()),
      user(response(), response(WEATHER.name, { result: 'rain' })),
    ),
    'responses in another order': of(
      user({ text: 'Go' }),
      model(call(), call(CLOCK.name, { zone: 'CET' })),
      user(response(CLOCK.name), response()),
    ),
    'a call without args': of(
      user({ text: 'Go' }),
      model({ functionCall: { name: CLOCK.name } }),
      user(response(CLOCK.name)),
    ),
    'a response in the role function': of(user({ text: 'Go' }), model(call()), {
      role: 'function',
      parts: [response()],
    }),
    'a response with structure': of(
      user({ text: 'Go' }),
      model(call()),
      user(response(WEATHER.name, { degrees: [1, 2], sky: { clear: true } })),
    ),
    'an empty response': of(user({ text: 'Go' }), model(call()), user(response(WEATHER.name, {}))),
    'a failed response': of(
      user({ text: 'Go' }),
      model(call()),
      user(response(WEATHER.name, { error: 'down' })),
    ),
    'a call without response': of(user({ text: 'Go' }), model(call()), user({ text: 'Never mind' })),
    'a response without call': of(user({ text: 'Go' }), user(response())),
    'text and call in one content': of(
      user({ text: 'Go' }),
      model({ text: 'Looking' }, call()),
      user(response(), { text: 'And?' }),
    ),
    'a thought in the history': of(
      user({ text: 'Go' }),
      model({ text: 'hm', thought: true }, { text: 'So' }),
      user({ text: 'More' }),
    ),
    'the bypass signature': of(
      user({ text: 'Go' }),
      model({ ...call(), thoughtSignature: 'skip_thought_signature_validator' }),
      user(response()),
    ),
    'an empty text with a signature': of(
      user({ text: 'Go' }),
      model({ text: 'So' }, { text: '', thoughtSignature: 'c2lnbmF0dXJl' }),
      user({ text: 'More' }),
    ),
    'empty texts': of(user({ text: '' }, { text: 'Hello' }), model({ text: '' }), user({ text: 'More' })),
    'code that was run': of(
      user({ text: 'Go' }),
      model(
        { executableCode: { language: 'PYTHON', code: 'print(1)' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
        { text: 'One.' },
      ),
      user({ text: 'More' }),
    ),
    'an old schema': {
      contents: [user({ text: 'Go' })],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'old',
              description: 'o',
              parameters: {
                type: 'OBJECT',
                properties: {
                  a: { type: 'STRING', nullable: true },
                  b: { type: 'ARRAY', items: { type: 'NUMBER' } },
                },
                required: ['b'],
                propertyOrdering: ['b', 'a'],
              },
            },
          ],
        },
      ],
    },
    'a dynamic budget': {
      contents: [user({ text: 'Go' })],
      generationConfig: { thinkingConfig: { thinkingBudget: -1, includeThoughts: true } },
    },
    'a level': {
      contents: [user({ text: 'Go' })],
      generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } },
    },
    'an enum as the answer': {
      contents: [user({ text: 'Go' })],
      generationConfig: {
        responseMimeType: 'text/x.enum',
        responseSchema: { type: 'STRING', enum: ['a', 'b'] },
      },
    },
    'only an image': of(user({ inlineData: { mimeType: 'image/png', data: PIXEL } })),
    'safety settings': {
      contents: [user({ text: 'Go' })],
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    },
    'calls but no tools any more': { contents: [user({ text: 'Go' }), model(call()), user(response())] },
  }
}
