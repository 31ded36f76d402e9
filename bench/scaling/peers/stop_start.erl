%% Erlang's timers: erl -run stop_start main THREADS SECONDS TIMERS prints how many pairs of a stop and a start
%% so many processes make in a second, in millions. Each has its share of the timers, 10 to 20 s ahead, in an
%% array, and takes them in turn, with a step that is prime to their number: a random one would cost more than
%% the timer.
-module(stop_start).
-export([main/1]).

main([ThreadsText, SecondsText, TimersText]) ->
    Threads = list_to_integer(ThreadsText),
    Seconds = list_to_integer(SecondsText),
    Own = list_to_integer(TimersText) div Threads,
    Main = self(),
    Workers = [spawn_link(fun() -> work(Main, Own) end) || _ <- lists:seq(1, Threads)],
    [receive {ready, Worker} -> ok end || Worker <- Workers],
    Start = erlang:monotonic_time(nanosecond),
    [Worker ! start || Worker <- Workers],
    timer:sleep(Seconds * 1000),
    [Worker ! stop || Worker <- Workers],
    Lasted = erlang:monotonic_time(nanosecond) - Start,
    Pairs = lists:sum([receive {pairs, Worker, Count} -> Count end || Worker <- Workers]),
    io:format("~p~n", [Pairs * 1000 / Lasted]),
    halt(0).

start_timer(Step) -> erlang:start_timer(10000 + Step rem 10000, self(), due).

%% The process dictionary serves as an array that changes in place.
work(Main, Own) ->
    [put(I, start_timer(I * 7919)) || I <- lists:seq(0, Own - 1)],
    Main ! {ready, self()},
    receive start -> ok end,
    Count = stop_and_start(0, 0, Own),
    Main ! {pairs, self(), Count}.

stop_and_start(Count, I, Own) when Count rem 1000 =:= 999 ->
    receive stop -> Count after 0 -> one(Count, I, Own) end;
stop_and_start(Count, I, Own) -> one(Count, I, Own).

one(Count, I, Own) ->
    erlang:cancel_timer(get(I)),
    put(I, start_timer(Count)),
    stop_and_start(Count + 1, (I + 7919) rem Own, Own).
